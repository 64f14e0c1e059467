// systole train, evaluate, predict, export and check, on the files of examples/configs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "systole/base/testing/temp_folder.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kIris = "examples/configs/iris.yaml";

class TrainCommands : public ::testing::Test {
 protected:
  ProgramResult run(const std::string& command, const std::string& rest = "") const {
    return run_program("systole " + command + " " + kIris + " --model_dir " + model_dir_ + " " +
                       rest);
  }
  const TempFolder folder_;
  const std::string model_dir_ = folder_ / "model";
};

TEST_F(TrainCommands, TrainEvaluateExportPredict) {
  const ProgramResult check = run("check");
  EXPECT_EQ(check.status, 0) << check.output;
  const auto json = nlohmann::json::parse(run("check", "--json 2>/dev/null").output);
  EXPECT_EQ(json["ok"], true);
  EXPECT_GT(json["memory"]["total"], 0);
  const auto predicted =
      nlohmann::json::parse(run("check", "--predict v2-8 --json 2>/dev/null").output);
  EXPECT_EQ(predicted["batch_size"], 32);
  EXPECT_EQ(predicted["memory_limit"], json["memory"]["limit"]);
  EXPECT_GT(predicted["memory_bytes"], 0);
  const auto all = nlohmann::json::parse(run("check", "--predict all --json 2>/dev/null").output);
  ASSERT_EQ(all.size(), 7);
  for (const auto& row : all) {
    EXPECT_EQ(row["fits"], true) << row["system"];
    EXPECT_GT(row["step_seconds"], 0) << row["system"];
  }
  const ProgramResult train = run("train");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_THAT(train.output,
              AllOf(HasSubstr("train  100 %  400 of 400"), HasSubstr("accuracy = 0.96\n"),
                    HasSubstr("model.ckpt-400"), HasSubstr("tensorboard --logdir")));
  // The configuration, for `systole board`.
  std::ifstream config(model_dir_ + "/config.systole.yaml");
  const std::string yaml{std::istreambuf_iterator<char>(config), {}};
  EXPECT_THAT(yaml, AllOf(HasSubstr("AdamOptimizer"), HasSubstr("train_batch_size: 32")));
  const ProgramResult more = run("train", "--steps 50 --set run_config.keep_checkpoint_max=7 -q");
  EXPECT_EQ(more.status, 0) << more.output;
  EXPECT_THAT(more.output, AllOf(Not(HasSubstr("450 of 450")), HasSubstr("model.ckpt-450")));
  std::ifstream changed(model_dir_ + "/config.systole.yaml");
  const std::string after{std::istreambuf_iterator<char>(changed), {}};
  EXPECT_THAT(after, HasSubstr("keep_checkpoint_max: 7"));
  const ProgramResult evaluate = run("evaluate");
  EXPECT_EQ(evaluate.status, 0) << evaluate.output;
  EXPECT_THAT(evaluate.output, AllOf(HasSubstr("accuracy = 0.9"), HasSubstr("confusion_matrix:"),
                                     HasSubstr("examples = 50")));
  const ProgramResult predict = run("predict", "--count 2 2>/dev/null");
  EXPECT_EQ(std::ranges::count(predict.output, '\n'), 2) << predict.output;
  EXPECT_THAT(predict.output, HasSubstr("{\"classes\":"));
  const ProgramResult exported = run("export", "2>/dev/null");
  EXPECT_EQ(exported.status, 0) << exported.output;
  const std::string saved_model = exported.output.substr(0, exported.output.find('\n'));
  EXPECT_THAT(
      run_program("systole inspect " + saved_model).output,
      AllOf(HasSubstr("serving_default"), HasSubstr("written by Systole for TensorFlow 1.15")));
  EXPECT_THAT(run_program("systole predict " + saved_model + " --set a=b --input x").output,
              HasSubstr("expected it with a configuration file"));
  const std::string svg = model_dir_ + "/curves.svg";
  EXPECT_THAT(run_program("systole inspect " + model_dir_ + " --plot " + svg).output,
              AllOf(HasSubstr("eval: accuracy, 0.9"), HasSubstr("train: loss, ")));
  EXPECT_TRUE(std::filesystem::exists(svg));
  EXPECT_THAT(run_program("systole inspect " + model_dir_ + "/checkpoint").output,
              HasSubstr("model.ckpt-450"));
  EXPECT_THAT(run_program("systole predict " + model_dir_ + "/export").output,
              HasSubstr("--input, got none"));
  EXPECT_THAT(run_program("systole predict " + model_dir_).output,
              HasSubstr("got a file of kind 'checkpoint', expected a SavedModel"));
}

// A full disk under the log, and a closed descriptor, whose number the next file gets.
TEST_F(TrainCommands, SurvivesAStderrThatCannotBeWritten) {
  const ProgramResult full = run("train", "--steps 100 2>/dev/full");
  EXPECT_EQ(full.status, 0) << full.output;
  EXPECT_THAT(full.output, HasSubstr("model.ckpt-100"));
  const ProgramResult closed = run("train", "--steps 50 2>&-");
  EXPECT_EQ(closed.status, 0) << closed.output;
  EXPECT_THAT(closed.output, HasSubstr("model.ckpt-150"));
  std::ifstream lock(model_dir_ + "/.systole.lock");
  const std::string holder{std::istreambuf_iterator<char>(lock), {}};
  EXPECT_THAT(holder, ::testing::MatchesRegex("[0-9]+"));
}

// Uses SIGTERM, because programs in the background of a shell ignore SIGINT.
TEST_F(TrainCommands, ASignalEndsTrainingAndWhatComesBehindIt) {
  const ProgramResult stopped = run(
      "train", "--steps 200000000 --set run_config.log_step_count_steps=1 > " + model_dir_ +
                   ".log 2>&1 & p=$!; n=0; "
                   "until grep -q 'step = ' " +
                   model_dir_ +
                   ".log || [ $n = 600 ]; do "
                   "sleep 0.1; n=$((n + 1)); done; kill -TERM $p; wait $p; echo status $?; cat " +
                   model_dir_ + ".log; rm " + model_dir_ + ".log");
  EXPECT_THAT(stopped.output,
              AllOf(HasSubstr("status 75"), HasSubstr("SIGTERM: training stops after step "),
                    HasSubstr("stopped by SIGTERM; run the same command to continue"),
                    Not(HasSubstr("accuracy = "))));
}

TEST_F(TrainCommands, BadInput) {
  EXPECT_THAT(run_program("systole train").output, HasSubstr("configuration file, got none"));
  EXPECT_THAT(run_program("systole train nowhere.yaml").output, HasSubstr("nowhere.yaml"));
  const ProgramResult typo = run("train", "--set model.layers.0.Dense.unit=3");
  EXPECT_EQ(typo.status, 1);
  EXPECT_THAT(typo.output, HasSubstr("did you mean 'units'?"));
  EXPECT_THAT(run("train", "--set model.layers.0.Dense.units=-3").output,
              HasSubstr("--set model.layers.0.Dense.units: Dense: units, got -3, expected an"));
  EXPECT_THAT(run("evaluate").output, HasSubstr("Could not find trained model in model_dir"));
  EXPECT_THAT(run("train", "--set data.train=").output, HasSubstr("pipeline, got nothing"));
  EXPECT_THAT(run("predict", "--input x.npy").output,
              HasSubstr("expected none: a configuration file names its data"));
}

}  // namespace
}  // namespace systole::testing
