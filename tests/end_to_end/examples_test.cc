// The examples reach the results that the README states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "systole/base/testing/temp_folder.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::HasSubstr;

// The number after the last occurrence of `key`.
double last_number(const std::string& text, const std::string& key) {
  const auto at = text.rfind(key);
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + key.size(), nullptr);
}

TEST(Examples, LinearRegressionFindsTheLine) {
  const ProgramResult result = run_program("linear_regression");
  EXPECT_EQ(result.status, 0);
  EXPECT_NEAR(last_number(result.output, "w = "), 2, 0.01) << result.output;
  EXPECT_NEAR(last_number(result.output, "b = "), 1, 0.01) << result.output;
}

// The memory of a step in MB, from a line "float32, recompute_grad: variables 1176 MB, a step 491
// MB".
double step_of_line(const std::string& text, const std::string& model) {
  const auto at = text.find("\n" + model + ": ");
  return at == std::string::npos
             ? -1
             : last_number(text.substr(at, text.find('\n', at + 1) - at), "a step ");
}

TEST(Examples, DecoderCheckTellsWhatSavesMemory) {
  const ProgramResult result = run_program("decoder_check");
  EXPECT_EQ(result.status, 0) << result.output;
  const std::string text = "\n" + result.output;
  const double plain = step_of_line(text, "float32");
  EXPECT_GT(plain, 2000) << text;
  const double recomputed = step_of_line(text, "float32, recompute_grad");
  EXPECT_GT(recomputed, 100) << text;
  EXPECT_LE(recomputed, 0.35 * plain) << text;
  EXPECT_LE(step_of_line(text, "bfloat16_scope"), 0.7 * plain) << text;
  EXPECT_LE(step_of_line(text, "bfloat16_scope, recompute_grad"), 0.7 * recomputed) << text;
  EXPECT_GT(step_of_line(text, "bfloat16_scope, recompute_grad"), 100) << text;
}

TEST(Examples, InputPipelineReadsMnist) {
  if (!std::filesystem::exists("../shared/data/mnist")) {
    GTEST_SKIP() << "../shared/data/mnist is not there";
  }
  const ProgramResult result = run_program("input_pipeline --data_dir ../shared/data --steps 2");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("batch 0: images f32[1024,784] in [-0.5, 0.5], labels "
                                       "s32[10] {5, 0, 4, 1, 9, 2, 1, 3, 1, 4}"));
  EXPECT_THAT(result.output, HasSubstr("batch 1: "));
  const ProgramResult no_file = run_program("input_pipeline --train_file nowhere");
  EXPECT_EQ(no_file.status, 1);
  EXPECT_THAT(no_file.output, HasSubstr("NOT_FOUND: list_files: pattern 'nowhere'"));
}

TEST(Examples, DigitsSessionLearnsAndWritesItsFiles) {
  const TempFolder folder;
  const ProgramResult result = run_program("digits_session --log_dir " + folder.path());
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_GE(last_number(result.output, "Accuracy at step 400: "), 0.9) << result.output;
  EXPECT_THAT(result.output, HasSubstr("model.ckpt-400"));
  const ProgramResult plot =
      run_program("systole inspect " + folder.path() + " --plot " + (folder / "curves.svg"));
  EXPECT_THAT(plot.output, HasSubstr("test: accuracy, 0.9"));
  EXPECT_THAT(plot.output, HasSubstr("4 curves"));
}

TEST(Examples, IrisReachesItsAccuracy) {
  const ProgramResult result = run_program("iris_session --report");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Epoch = 1, train accuracy = "));
  EXPECT_GE(last_number(result.output, "Epoch = 100, train accuracy = "), 96) << result.output;
  EXPECT_GE(last_number(result.output, "test accuracy = "), 96) << result.output;
  EXPECT_THAT(result.output, HasSubstr("truth \\ guess"));
}

TEST(Examples, IrisGivesTheSameResultEveryTime) {
  const ProgramResult first = run_program("iris_session --epochs 20 2>/dev/null");
  const ProgramResult second = run_program("iris_session --epochs 20 2>/dev/null");
  EXPECT_EQ(first.output, second.output);
}

TEST(Examples, IrisOnAVirtualTpu) {
  const ProgramResult result = run_program("iris_session --tpu local --epochs 3");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("num_tpu_devices_per_task: 8"));
  EXPECT_THAT(result.output, HasSubstr("runs on 1 of 8 cores"));
  EXPECT_THAT(result.output, HasSubstr("Epoch = 3, "));
}

TEST(Examples, IrisEstimatorOnATpuAndOff) {
  for (const std::string use_tpu : {"true", "false"}) {
    const ProgramResult result = run_program("iris_tpuestimator --use_tpu=" + use_tpu);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_GE(last_number(result.output, "accuracy "), 95) << result.output;
  }
}

TEST(Examples, MnistEstimatorTrainsEvaluatesPredicts) {
  if (!std::filesystem::exists("../shared/data/mnist")) {
    GTEST_SKIP() << "../shared/data/mnist is not there";
  }
  const TempFolder folder;
  const ProgramResult result = run_program(
      "mnist_tpuestimator --train_steps=4 --iterations=2 --batch_size=128 --records_dir=" +
      folder / "records");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("of 10000 test digits"));
  EXPECT_THAT(result.output, HasSubstr("are the first digits of the test set"));
}

TEST(Examples, QuickstartDoesAllOfIt) {
  const TempFolder folder;
  const ProgramResult result =
      run_program("quickstart --small --train_steps=80 --batch_size=64 --out " + folder.path());
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_GE(last_number(result.output, "accuracy "), 80) << result.output;
  for (const char* part : {"1438 digits to train with, 359 to test with", "train  100 %  80 of 80",
                           "truth \\ guess", "guesses.png", "Exported a SavedModel: ",
                           "the first test digit is", "Took data ", "tensorboard --logdir "}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
  const ProgramResult no_data = run_program("quickstart --data_dir /nowhere");
  EXPECT_EQ(no_data.status, 1);
  EXPECT_THAT(no_data.output, HasSubstr("/nowhere/mnist"));
}

// The text repeats itself.
TEST(Examples, TextDecoderLearnsWithLessMemory) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abcdefgh ijklmnop.";
  std::ofstream(folder / "text") << text;
  const std::string text_flag = "text_decoder --text " + (folder / "text");
  const std::string command = text_flag +
                              " --layers 4 --width 32 --heads 4 --groups 2 --hidden 64 --length 32 "
                              "--batch_size 16 --learning_rate 0.01 --steps 150 --continue_for 0";
  std::vector<double> bytes;
  std::vector<double> losses;
  for (const char* flag : {"", " --recompute_grad"}) {
    const ProgramResult result = run_program(command + flag);
    EXPECT_EQ(result.status, 0) << result.output;
    bytes.push_back(last_number(result.output, "a step holds "));
    losses.push_back(last_number(result.output, "step 150: loss "));
    EXPECT_LT(losses.back(), 0.5) << result.output;
  }
  EXPECT_LT(bytes[1], bytes[0]);
  EXPECT_NEAR(losses[0], losses[1], 0.05);
  const ProgramResult wrong = run_program(text_flag + " --width 32 --heads 3");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.output, HasSubstr("--width: got 32, expected an even multiple of 3 heads"));
}

TEST(Examples, IrisNamesWhatIsWrong) {
  const ProgramResult no_file = run_program("iris_session --data nowhere.csv");
  EXPECT_EQ(no_file.status, 1);
  EXPECT_THAT(no_file.output, HasSubstr("nowhere.csv"));
  const ProgramResult no_flowers = run_program("iris_session --data Makefile");
  EXPECT_EQ(no_flowers.status, 1);
  EXPECT_THAT(no_flowers.output, HasSubstr("Makefile"));
  const ProgramResult no_tpu = run_program("iris_session --tpu my_tpu");
  EXPECT_EQ(no_tpu.status, 1);
  EXPECT_THAT(no_tpu.output, HasSubstr("TPUClusterResolver: tpu, got 'my_tpu'"));
  const ProgramResult no_worker = run_program("iris_session --tpu grpc://127.0.0.1:8470");
  EXPECT_EQ(no_worker.status, 1);
  EXPECT_THAT(no_worker.output, HasSubstr("UNAVAILABLE"));
}

}  // namespace
}  // namespace systole::testing
