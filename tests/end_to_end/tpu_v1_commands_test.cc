// The example of TPU v1, and every command below systole tpu-v1, on a network trained here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "systole/base/random.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/keras/keras.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDigits = "../shared/data/mnist";

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double number_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + key.size(), nullptr);
}

std::string succeed(const std::string& command) {
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.status, 0) << command << "\n" << result.output;
  return result.output;
}

class TpuV1Commands : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  const TempFolder folder_;
};

// Trains for a few steps, so that all digits, programs and pictures come from one short run.
TEST_F(TpuV1Commands, ATrainedNetworkGoesThroughAllOfThem) {
  if (!std::filesystem::exists(kDigits)) GTEST_SKIP() << kDigits << " is not there";
  const std::string out = path("out");
  const std::string example =
      succeed("mnist_tpu_v1 --samples 1500 --epochs 1 --digits 100 --batch 20 --out " + out);
  EXPECT_GE(number_after(example, "accuracy "), 40) << example;
  const double difference = number_after(example, "difference ");
  EXPECT_LE(std::abs(difference), 3) << example;
  EXPECT_THAT(example, HasSubstr("4 of 4 products on 8 bits"));
  EXPECT_GE(number_after(example, "sizes "), 3.5 * number_after(example, "bytes float, "));
  for (const char* row : {"1 array active", "2 useful products", "3 unused products",
                          "4 weight stall", "5 weight shift", "6 non-matrix", "7 RAW stalls",
                          "8 input data stalls", "MAC/byte, ridge 1349.3", "digits a second"}) {
    EXPECT_THAT(example, HasSubstr(row));
  }
  EXPECT_THAT(bytes_of_file(out + "/roofline.svg"), HasSubstr("</svg>"));

  const std::string compiled = succeed(
      fmt::format("systole tpu-v1 compile {0}/model.mlir --output {0}/model.tpu --host {0}", out));
  EXPECT_THAT(compiled, HasSubstr("weight tiles"));
  std::smatch port;
  ASSERT_TRUE(std::regex_search(compiled, port,
                                std::regex("input input0: ([0-9]+) rows of ([0-9]+) bytes")));
  std::ofstream(path("x.bin"), std::ios::binary)
      << std::string(std::stoul(port[1]) * std::stoul(port[2]), '\1');
  const std::string ran = succeed(fmt::format(
      "systole tpu-v1 run {}/model.tpu --input input0={} --output {}", out, path("x.bin"), out));
  EXPECT_THAT(ran, HasSubstr("0 overflows"));
  // 20 images of 10 equal scores each.
  const std::string scores = bytes_of_file(out + "/output0.bin");
  ASSERT_EQ(scores.size(), 200U);
  EXPECT_EQ(scores.substr(0, 190), scores.substr(10));

  succeed(fmt::format("systole tpu-v1 disasm {0}/model.tpu --data > {0}/model.s", out));
  succeed(fmt::format("systole tpu-v1 asm {0}/model.s --output {0}/again.tpu", out));
  EXPECT_EQ(bytes_of_file(out + "/again.tpu"), bytes_of_file(out + "/model.tpu"));

  const std::string profile = succeed("systole tpu-v1 profile " + out + "/model.tpu");
  const double rows =
      number_after(profile, "1 array active") + number_after(profile, "4 weight stall") +
      number_after(profile, "5 weight shift") + number_after(profile, "6 non-matrix");
  EXPECT_NEAR(rows, 100, 0.3) << profile;
  EXPECT_THAT(succeed("systole tpu-v1 roofline " + out + "/model.tpu"), HasSubstr("MAC/byte"));
  succeed(
      fmt::format("systole tpu-v1 trace {0}/model.tpu --output {0}/trace.json --wave "
                  "{0}/wave.svg",
                  out));
  EXPECT_THAT(bytes_of_file(out + "/trace.json"), HasSubstr("traceEvents"));
  EXPECT_THAT(bytes_of_file(out + "/wave.svg"), StartsWith("<svg"));
}

TEST_F(TpuV1Commands, ValidateAndWhatIfNeedNoFiles) {
  const std::string validation = succeed("systole tpu-v1 validate");
  EXPECT_THAT(validation,
              HasSubstr("| 600x600, array 256, 34 GB/s, us | 17.35 | 18.00 | -3.62 % | 17.35 |"));
  EXPECT_EQ(validation.find(": no |"), std::string::npos);
  // The page has the tables that the command prints.
  const std::string page = bytes_of_file("docs/tpu_v1.md");
  EXPECT_THAT(page, HasSubstr(validation.substr(validation.find("### Limits"))));
  for (const char* factor : {"2", "4"}) {  // 4 is the example of --help
    const std::string changes = succeed(std::string("systole tpu-v1 what-if --factor ") + factor);
    for (const char* workload : {"MLP0-R", "MLP1-R", "LSTM0-R", "LSTM1-R", "CNN0-R", "CNN1-R"})
      EXPECT_THAT(changes, HasSubstr(workload));
  }
}

TEST_F(TpuV1Commands, ScaleSimCountsAllRowsOrFails) {
  std::ofstream(path("long.csv")) << "Layer, M, N, K,\nbig, 4186116, 64, 27,\n";
  EXPECT_THAT(succeed("systole tpu-v1 scalesim " + path("long.csv")),
              HasSubstr("1 layers, 7233608448 multiply-adds, 4186881 cycles\n"));
  std::ofstream(path("symbol.csv")) << "Layer, M, N, K,\na, 4, 4, 4,\nb, M, 4, 4,\n";
  const ProgramResult half = run_program("systole tpu-v1 scalesim " + path("symbol.csv"));
  EXPECT_EQ(half.status, 1);
  EXPECT_THAT(half.output,
              AllOf(HasSubstr("without a row that cannot be counted"), HasSubstr("got 'M'")));
}

TEST_F(TpuV1Commands, NameWhatIsWrong) {
  const auto error_after = [](const std::string& command) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 1) << command;
    return result.output;
  };
  std::ofstream(path("bad.tpu")) << "no program";
  EXPECT_THAT(error_after("systole tpu-v1 run " + path("bad.tpu")),
              HasSubstr("not a TPU v1 program"));
  std::ofstream(path("bad.s")) << "nop\nmatmull\nhalt\n";
  EXPECT_THAT(error_after("systole tpu-v1 run " + path("bad.s")),
              HasSubstr("bad.s:2: opcode, got 'matmull'"));
  std::ofstream(path("float.mlir")) << "func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
                                       "  return %x : tensor<2x2xf32>\n}\n";
  EXPECT_THAT(
      error_after("systole tpu-v1 compile " + path("float.mlir") + " --output " + path("p.tpu")),
      HasSubstr("quantized ops, got none, expected some: quantize the model first"));
  EXPECT_THAT(error_after("systole tpu-v1 profile MLP9-R"), HasSubstr("MLP9-R"));
}

// A checkpoint, its export and a Keras file become programs of integers, which predict runs.
class QuantizeCommand : public TpuV1Commands {
 protected:
  void train() const {
    succeed("systole train examples/configs/iris.yaml --model_dir " + path("iris") +
            " --steps 300 2>/dev/null");
  }
};

TEST_F(QuantizeCommand, CheckpointsAndSavedModelsGiveOneProgram) {
  train();
  std::ofstream csv(path("flowers.csv"));
  csv << "a,b,c,d\n";
  for (int i = 0; i < 64; ++i)
    csv << 4.5 + 0.05 * i << "," << 2.2 + 0.03 * i << "," << 1 + 0.08 * i << "," << 0.1 + 0.03 * i
        << "\n";
  csv.close();
  const std::string data = " --data " + path("flowers.csv");
  const std::string report = succeed("systole quantize examples/configs/iris.yaml --model_dir " +
                                     path("iris") + data + " --out " + path("checkpoint.mlir"));
  EXPECT_THAT(report, HasSubstr("products on 8 bits"));
  succeed("systole export examples/configs/iris.yaml --model_dir " + path("iris") + " --output " +
          path("export"));
  succeed("systole quantize " + path("export") + data + " --out " + path("export.mlir"));
  EXPECT_EQ(bytes_of_file(path("checkpoint.mlir")), bytes_of_file(path("export.mlir")));

  const auto predict = [&](const std::string& device) {
    return succeed("systole predict " + path("export.mlir") + " --input " + path("flowers.csv") +
                   " --device " + device);
  };
  const std::string machine = predict("tpu_v1");
  // The names of the SavedModel's outputs.
  EXPECT_THAT(machine, HasSubstr("{\"classes\":"));
  EXPECT_THAT(machine, HasSubstr("\"probabilities\":"));
  EXPECT_EQ(std::ranges::count(machine, '\n'), 64);
  EXPECT_EQ(machine, predict("cpu"));

  const ProgramResult real = run_program("systole predict " + path("export") + " --input " +
                                         path("flowers.csv") + " --device tpu_v1");
  EXPECT_EQ(real.status, 1);
  EXPECT_THAT(real.output, HasSubstr("expected an 8-bit program: 'systole quantize"));
  const ProgramResult checkpoint =
      run_program("systole quantize " + path("iris") + data + " --out " + path("x.mlir"));
  EXPECT_EQ(checkpoint.status, 1);
  EXPECT_THAT(checkpoint.output, HasSubstr("the configuration file of its model (.yaml)"));
}

TEST_F(QuantizeCommand, KerasFilesGiveThePredictionsOfTheModel) {
  Graph graph;
  const GraphScope scope(graph);
  set_random_seed(7);
  const keras::Sequential model(
      {keras::layers::Dense(12, {.activation = "tanh", .input_shape = Shape{5}}),
       keras::layers::Dense(3, {.activation = "softmax"})});
  RandomStream random(1);
  Tensor x(DType::f32, {40, 5});
  for (float& value : x.data<float>()) value = static_cast<float>(random.next_normal());
  model.predict(x);
  model.save(path("model.h5"));
  write_npy(default_file_system(), path("x.npy"), x);
  succeed("systole quantize " + path("model.h5") + " --data " + path("x.npy") + " --out " +
          path("model.mlir"));
  succeed("systole predict " + path("model.mlir") + " --device tpu_v1 --input " + path("x.npy") +
          " --output " + path("out"));
  const Tensor got =
      read_npy(default_file_system(), path("out/" + model.output_names().at(0) + ".npy"));
  EXPECT_TRUE(got.identical(keras::quantize_model(model, x, {.batch_size = 32}).predict(x)));
}

}  // namespace
}  // namespace systole::testing
