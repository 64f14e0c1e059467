// What HDF5's own tools say of the files that we write.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "systole/base/random.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/core/graph.h"
#include "systole/io/local/local_file_system.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::TempFolder;
using ::testing::HasSubstr;

struct CommandResult {
  int status = -1;
  std::string output;
};

CommandResult run_command(const std::string& command) {
  CommandResult result;
  std::FILE* const pipe = ::popen((fmt::format("{} 2>&1", command)).c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> part{};
  for (size_t size = 0; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    result.output.append(part.data(), size);
  }
  result.status = ::pclose(pipe);
  return result;
}

// Lines without indentation.
std::string unindented(const std::string& text) {
  std::string lines;
  bool start = true;
  for (const char c : text) {
    if (start && c == ' ') continue;
    start = c == '\n';
    lines += c;
  }
  return lines;
}

class Hdf5ToolsTest : public ::testing::Test {
 protected:
  Hdf5ToolsTest() : scope_(graph_) { set_random_seed(1); }
  void SetUp() override {
    if (run_command("h5dump --version").status != 0) GTEST_SKIP() << "hdf5-tools are not installed";
  }
  Graph graph_;
  GraphScope scope_;
  TempFolder folder_;
};

Sequential tool_model() {
  return Sequential({layers::Dense(3, {.input_shape = Shape{2}}), layers::Dropout(0.25)});
}

TEST_F(Hdf5ToolsTest, H5lsListsTheGroups) {
  const Sequential model = tool_model();
  model.compile({.optimizer = "rmsprop", .loss = "mse"});
  model.fit(Tensor::full(DType::f32, {4, 2}, 1), Tensor::full(DType::f32, {4, 3}, 1),
            {.verbose = 0});
  model.save(folder_ / "model.h5");
  EXPECT_EQ(run_command(fmt::format("h5ls -r {}", folder_ / "model.h5")).output,
            "/                        Group\n"
            "/model_weights           Group\n"
            "/model_weights/dense     Group\n"
            "/model_weights/dense/dense Group\n"
            "/model_weights/dense/dense/bias:0 Dataset {3}\n"
            "/model_weights/dense/dense/kernel:0 Dataset {2, 3}\n"
            "/model_weights/dropout   Group\n"
            "/optimizer_weights       Group\n"
            "/optimizer_weights/training Group\n"
            "/optimizer_weights/training/RMSprop Group\n"
            "/optimizer_weights/training/RMSprop/Variable:0 Dataset {2, 3}\n"
            "/optimizer_weights/training/RMSprop/Variable_1:0 Dataset {3}\n");
}

TEST_F(Hdf5ToolsTest, H5dumpShowsAttributesAndTypes) {
  tool_model().save_weights(folder_ / "weights.h5");
  const std::string variable =
      "DATATYPE  H5T_STRING {\nSTRSIZE H5T_VARIABLE;\nSTRPAD H5T_STR_NULLTERM;\n"
      "CSET H5T_CSET_ASCII;\nCTYPE H5T_C_S1;\n}\nDATASPACE  SCALAR\nDATA {\n(0): ";
  const auto fixed = [](int size, const char* strings) {
    return fmt::format(
        "DATATYPE  H5T_STRING {{\nSTRSIZE {};\nSTRPAD H5T_STR_NULLPAD;\nCSET H5T_CSET_ASCII;\n"
        "CTYPE H5T_C_S1;\n}}\nDATASPACE  SIMPLE {{ ( 2 ) / ( 2 ) }}\nDATA {{\n(0): {}\n}}\n}}\n",
        size, strings);
  };
  EXPECT_EQ(unindented(run_command(fmt::format("h5dump -A {}", folder_ / "weights.h5")).output),
            fmt::format("HDF5 \"{}\" {{\n", folder_ / "weights.h5") +
                "GROUP \"/\" {\nATTRIBUTE \"backend\" {\n" + variable +
                "\"tensorflow\"\n}\n}\nATTRIBUTE \"keras_version\" {\n" + variable +
                "\"2.1.6-tf\"\n}\n}\nATTRIBUTE \"layer_names\" {\n" +
                fixed(7, "\"dense\\000\\000\", \"dropout\"") +
                "GROUP \"dense\" {\nATTRIBUTE \"weight_names\" {\n" +
                fixed(14, "\"dense/kernel:0\", \"dense/bias:0\\000\\000\"") +
                "GROUP \"dense\" {\n"
                "DATASET \"bias:0\" {\nDATATYPE  H5T_IEEE_F32LE\n"
                "DATASPACE  SIMPLE { ( 3 ) / ( 3 ) }\n}\n"
                "DATASET \"kernel:0\" {\nDATATYPE  H5T_IEEE_F32LE\n"
                "DATASPACE  SIMPLE { ( 2, 3 ) / ( 2, 3 ) }\n}\n}\n}\n"
                "GROUP \"dropout\" {\nATTRIBUTE \"weight_names\" {\nDATATYPE  H5T_IEEE_F64LE\n"
                "DATASPACE  SIMPLE { ( 0 ) / ( 0 ) }\nDATA {\n}\n}\n}\n}\n}\n");
}

TEST_F(Hdf5ToolsTest, H5dumpShowsTheRoot) {
  const Sequential model = tool_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.save(folder_ / "model.h5");
  for (const char* name : {"keras_version", "backend", "model_config", "training_config"}) {
    EXPECT_THAT(run_command(fmt::format("h5dump -a /{} {}", name, folder_ / "model.h5")).output,
                AllOf(HasSubstr("STRSIZE H5T_VARIABLE"), HasSubstr("CSET H5T_CSET_ASCII"),
                      HasSubstr("DATASPACE  SCALAR")));
  }
}

// Why files are read by our own reader: HDF5 1.10 ends the process on files with one wrong bit.
TEST_F(Hdf5ToolsTest, TheLibraryCrashesOnDamagedFilesOurReaderDoesNot) {
  const Sequential model = tool_model();
  model.save(folder_ / "model.h5");
  const std::string whole = read_file(local_file_system(), folder_ / "model.h5");
  const std::string damaged = folder_ / "damaged.h5";
  RandomStream random(1);
  int crashes = 0;
  for (int i = 0; i < 400 && crashes == 0; ++i) {
    std::string bytes = whole;
    bytes[random.next_below(std::min<size_t>(bytes.size(), 6000))] ^=
        static_cast<char>(1 << random.next_below(8));
    write_file_atomically(local_file_system(), damaged, bytes);
    try {
      tool_model().load_weights(damaged);
    } catch (const Error&) {
      // Said, as most damage is.
    }
    const int status = run_command("h5dump " + damaged).status;
    crashes += WIFSIGNALED(status) || WEXITSTATUS(status) > 128 ? 1 : 0;
  }
  if (crashes == 0) GTEST_SKIP() << "this version of HDF5 survives what was tried";
}

}  // namespace
}  // namespace systole::keras
