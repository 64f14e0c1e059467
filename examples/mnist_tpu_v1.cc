// MNIST on TPU v1, from training to counters: trains a convolutional network with Keras, quantizes
// it to 8-bit integers, compiles it for the machine of "In-Datacenter Performance Analysis of a
// Tensor Processing Unit" (ISCA 2017) and runs the test digits on its model, bit for bit.
//
//   mnist_tpu_v1 --data_dir DATA      DATA/mnist holds mnist.npz or the four IDX files
//
// Prints the accuracy on floating-point numbers and on integers, the sizes, the counters of the
// machine and its roofline. One epoch of 20,000 digits reaches 97 %; integers lose at most 0.5
// points.

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/mnist_data.h"
#include "examples/support/pixel_models.h"
#include "examples/support/stopwatch.h"
#include "systole/base/command_line.h"
#include "systole/keras/keras.h"
#include "systole/stablehlo/text/text.h"
#include "systole/systole.h"
#include "systole/tpu_v1/compiler/module_stages.h"
#include "systole/tpu_v1/pictures/pictures.h"
#include "systole/tpu_v1/timing/timing.h"

namespace {

namespace mnist = st::keras::datasets::mnist;
namespace tpu_v1 = st::tpu_v1;

struct Flags {
  std::string data_dir = examples::default_data_dir();
  int64_t epochs = 2;
  int64_t samples = 0;
  int64_t digits = 10000;
  int64_t batch = 100;
  std::string out;
};

void print_accuracies(double floats, double integers) {
  fmt::print("accuracy {:.2f} % float, {:.2f} % int8 on tpu_v1, difference {:+.2f} points\n",
             floats, integers, integers - floats);
}

// Compiles the program as the backend does, and shows each part that the machine computes.
void print_machine(const st::hlo::Module& module, const Flags& flags) {
  const tpu_v1::MachineConfig machine;
  const tpu_v1::StagedModule staged = tpu_v1::stage_module(module, machine);
  std::vector<tpu_v1::NamedCounters> all;
  for (const tpu_v1::ModuleStage& stage : staged.stages) {
    if (stage.host != nullptr) continue;
    const std::string name = fmt::format("part {} of the machine", all.size());
    const tpu_v1::Counters counters = tpu_v1::simulate(stage.program, machine).counters;
    fmt::print("\n{} instructions, {} weight tiles, {} of {} digits at a time\n{}",
               stage.program.instructions.size(), stage.report.weight_tiles,
               stage.report.images_at_a_time, flags.batch,
               tpu_v1::counters_table(name, counters, machine));
    const double intensity = counters.multiply_adds / counters.weight_bytes;
    const double limit = std::min(1.0, intensity / machine.ridge()) * machine.peak_ops();
    fmt::print(
        "  roofline: {:.1f} MAC/byte, ridge {:.1f}: at most {:.2f} TOPS, reached {:.2f}\n"
        "  {:.0f} digits a second on the machine\n",
        intensity, machine.ridge(), limit * 1e-12,
        tpu_v1::ops_per_second(counters, machine) * 1e-12,
        static_cast<double>(flags.batch) / counters.cycles * machine.clock_hz);
    all.push_back({name, counters});
  }
  if (flags.out.empty()) return;
  st::FileSystem& files = st::default_file_system();
  files.make_directories(flags.out);
  st::write_file_atomically(files, flags.out + "/model.mlir", st::hlo::print(module));
  st::write_file_atomically(files, flags.out + "/roofline.svg", tpu_v1::roofline_svg(all, machine));
  st::write_file_atomically(files, flags.out + "/shares.svg", tpu_v1::utilization_svg(all));
  fmt::print("\nwrote model.mlir, roofline.svg and shares.svg to {}\n", flags.out);
}

void run(const Flags& flags) {
  examples::Stopwatch watch;
  st::set_random_seed(1);
  auto [train, test] = mnist::load_data({.data_dir = flags.data_dir});
  const int64_t samples =
      flags.samples == 0 ? train.x.dim(0) : std::min(flags.samples, train.x.dim(0));
  const int64_t digits = std::min(flags.digits, test.x.dim(0));
  const auto x_train = examples::pixels_of(train.x.slice(0, samples));
  const auto x_test = examples::pixels_of(test.x.slice(0, digits));
  const auto y_test = test.y.slice(0, digits);
  watch.lap("data");

  const st::keras::Sequential model = examples::pixel_cnn();
  model.fit(x_train, train.y.slice(0, samples),
            {.batch_size = 128, .epochs = flags.epochs, .verbose = 1});
  const double floats = examples::percent_right(model.predict(x_test, {.batch_size = 100}), y_test);
  watch.lap("training");

  // Ranges of activations are measured on 500 digits of the training set.
  const auto calibration = x_train.slice(0, std::min<int64_t>(500, samples));
  const st::keras::QuantizedModel int8 =
      st::keras::quantize_model(model, calibration, {.batch_size = flags.batch});
  fmt::print("\n{}\n", int8.report().to_string());
  watch.lap("quantization");

  const double integers = examples::percent_right(int8.predict(x_test), y_test);
  print_accuracies(floats, integers);
  fmt::print("sizes {} bytes float, {} bytes int8\n", int8.report().constant_bytes_before,
             int8.report().constant_bytes_after);
  watch.lap(fmt::format("{} digits on tpu_v1", digits));

  print_machine(int8.module(), flags);
  fmt::print("\n{}\n", watch.report());
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("mnist_tpu_v1",
                       "Trains a network on MNIST and runs it on a model of TPU v1, 8 bits wide.");
  line.option("--data_dir", flags.data_dir, "Holds mnist/").value_name("FOLDER").show_default();
  line.option("--epochs", flags.epochs).show_default();
  line.option("--samples", flags.samples, "Digits to train on; 0: all").show_default();
  line.option("--digits", flags.digits, "Test digits").show_default().positive();
  line.option("--batch", flags.batch, "Digits of a program").show_default().positive();
  line.option("--out", flags.out, "Folder for the 8-bit program and the pictures")
      .value_name("FOLDER");
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
