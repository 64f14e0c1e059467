// The Keras examples on a small part of their data, on one core and on eight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "systole/base/testing/temp_folder.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct KerasExample {
  std::string name;
  std::string data;     // a folder of ../shared/data
  std::string options;  // that make it short; "@" is a folder for its files
  std::string value;    // of the last line
};

void PrintTo(const KerasExample& example, std::ostream* out) { *out << example.name; }

const KerasExample kKerasExamples[] = {
    {"mnist_cnn", "mnist", "--samples 256 --epochs 3", "val_acc"},
    {"fashion_mnist_cnn", "fashion-mnist",
     "--samples 16 --batch_size 16 --steps_per_epoch 4 --epochs 3",
     "val_sparse_categorical_accuracy"},
    {"imdb_lstm", "imdb", "--samples 128 --epochs 3 --weights @/imdb.h5", "val_acc"},
    {"shakespeare_lstm", "tinyshakespeare",
     "--units 16 --batch_size 8 --steps_per_epoch 5 --epochs 3 --weights @/bard.h5", "loss"}};

// The training loss of each epoch.
std::vector<double> losses_in(const std::string& output) {
  const std::string key = " - loss: ";
  std::vector<double> losses;
  for (size_t at = output.find(key); at != std::string::npos; at = output.find(key, at + 1)) {
    losses.push_back(std::strtod(output.c_str() + at + key.size(), nullptr));
  }
  return losses;
}

class KerasExamples : public ::testing::TestWithParam<std::tuple<KerasExample, int>> {};

TEST_P(KerasExamples, LearnAndPrintTheirBest) {
  const auto& [example, cores] = GetParam();
  const std::string data = "../shared/data/" + example.data;
  if (!std::filesystem::exists(data)) GTEST_SKIP() << data << " is not there";
  const TempFolder folder;
  std::string options = example.options;
  if (const size_t at = options.find('@'); at != std::string::npos) {
    options.replace(at, 1, folder.path());
  }
  const ProgramResult result = run_program(example.name + " --data_dir ../shared/data --cores " +
                                           std::to_string(cores) + " " + options + " 2>/dev/null");
  EXPECT_EQ(result.status, 0) << result.output;
  const std::string last =
      result.output.substr(result.output.find_last_of('\n', result.output.size() - 2) + 1);
  EXPECT_THAT(last, ContainsRegex("^best " + example.value +
                                  " [0-9]+\\.[0-9]{4}, last [0-9]+\\.[0-9]{4}\n$"));
  const std::vector<double> losses = losses_in(result.output);
  ASSERT_GE(losses.size(), 3) << result.output;
  EXPECT_LT(losses[2], losses[0]) << result.output;
}

INSTANTIATE_TEST_SUITE_P(All, KerasExamples,
                         ::testing::Combine(::testing::ValuesIn(kKerasExamples),
                                            ::testing::Values(1, 8)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_on_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(KerasExamplesBadInput, NameWhatIsWrong) {
  const ProgramResult cores = run_program("mnist_cnn --cores 3");
  EXPECT_EQ(cores.status, 1);
  EXPECT_THAT(cores.output, HasSubstr("--cores: got 3, expected 1 or 8"));
  const ProgramResult data = run_program("imdb_lstm --data_dir /nowhere");
  EXPECT_EQ(data.status, 1);
  EXPECT_THAT(data.output, HasSubstr("imdb.npz"));
}

}  // namespace
}  // namespace systole::testing
