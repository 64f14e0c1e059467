#include "apps/systole/train/training_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "apps/systole/train/config_reference.h"
#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/local/local_file_system.h"
#include "systole/train/saved_model.h"

namespace systole::app {
namespace {

using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Learns whether x > 4 from the numbers 0 to 9.
std::string tiny_config(const TempFolder& folder) {
  return "model:\n"                                             // 1
         "  layers:\n"                                          // 2
         "    - Dense: {units: 8, activation: tanh}\n"          // 3
         "    - Dense: 2\n"                                     // 4
         "loss: sparse_softmax_cross_entropy\n"                 // 5
         "optimizer: {AdamOptimizer: {learning_rate: 0.05}}\n"  // 6
         "metrics: [accuracy, confusion_matrix]\n"              // 7
         "data:\n"                                              // 8
         "  dir: " +
         folder.path() +
         "\n"             // 9
         "  labels: y\n"  // 10
         "  train: [csv: {files: tiny.csv, features: {x: {dtype: float32, columns: [x]}, "
         "y: int32}}, repeat]\n"  // 11
         "  eval: [csv: {files: tiny.csv, features: {x: {dtype: float32, columns: [x]}, "
         "y: int32}}]\n"                        // 12
         "estimator: {train_batch_size: 16}\n"  // 13
         "train: {max_steps: 200}\n"            // 14
         "run_config:\n"                        // 15
         "  model_dir: " +
         folder / "model" +
         "\n"                                           // 16
         "  tf_random_seed: 1\n"                        // 17
         "  save_summary_steps: 0\n"                    // 18
         "  tpu_config: {iterations_per_loop: 100}\n";  // 19
}

class TrainingConfigTest : public ::testing::Test {
 protected:
  TrainingConfigTest() {
    write_file_atomically(
        local_file_system(), folder_ / "tiny.csv",
        "x,y\n-2,0\n-1.5,0\n-1,0\n-0.5,0\n-0.2,0\n0.2,1\n0.5,1\n1,1\n1.5,1\n2,1\n");
  }
  TrainingConfig parse(const TrainingOverrides& overrides = {}) const {
    return parse_training_config(ConfigNode::parse(tiny_config(folder_), "tiny.yaml"), overrides);
  }
  std::string error_of(const TrainingOverrides& overrides) const {
    return systole::testing::error_of([&] { parse(overrides); });
  }

  const TempFolder folder_;
};

TEST_F(TrainingConfigTest, TrainsEvaluatesExportsPredicts) {
  const LogCapture quiet;
  const TrainingConfig config = parse();
  TPUEstimator estimator(config.estimator);
  estimator.train(config.train_input, config.train);
  const Evaluation result = estimator.evaluate(config.eval_input, config.evaluate);
  EXPECT_EQ(result["accuracy"], 1) << result.to_string();
  EXPECT_EQ(result["global_step"], 200);
  EXPECT_EQ(result.tensor("confusion_matrix").data<float>()[0], 5);
  std::vector<int32_t> classes;
  for (const auto& prediction : estimator.predict(config.predict_input)) {
    classes.push_back(prediction["classes"].leaf().item<int32_t>());
  }
  EXPECT_EQ(classes, (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));

  const std::string exported = estimator.export_saved_model(
      estimator.model_dir() + "/export",
      estimator::build_raw_serving_input_receiver_fn({{"x", {DType::f32, {kUnknown, 1}}}}));
  SavedModel served(exported);
  const auto answer = served.predict({{"x", Tensor::of<float>({2, 1}, {-3, 3})}});
  EXPECT_EQ(answer.at("classes").data<int32_t>()[0], 0);
  EXPECT_EQ(answer.at("classes").data<int32_t>()[1], 1);
  EXPECT_TRUE(estimator.check(config.train_input).ok());
}

// The features of the batches that one call of an input_fn gives, as texts.
std::vector<std::string> batches_of(const InputFn& input, int64_t batch_size,
                                    const TPUContext::Deployment& call) {
  Params params;
  params.set("batch_size", batch_size);
  params.set("context", std::any(TPUContext(4, call, 2, call.invocation_index == 0 ? 0 : 1)));
  std::vector<std::string> batches;
  for (const Element& batch : input(params).dataset()) {
    std::string text;
    for (const float x : batch[0].flatten()[0].data<float>()) text += fmt::format("{} ", x);
    batches.push_back(text);
  }
  return batches;
}

TEST_F(TrainingConfigTest, SplitsTheExamplesOverProcesses) {
  using Texts = std::vector<std::string>;
  const auto config_with = [&](const std::string& inputs) {
    return parse({.set = {"data.train=[csv: {files: tiny.csv, features: {x: float32, y: int32}}]",
                          "run_config.tpu_config.per_host_input_for_training=" + inputs}});
  };
  const TrainingConfig hosts = config_with("PER_HOST_V1");
  // A step of four examples, two a process; the last two of ten make no step.
  const TPUContext::Deployment first{.total_invocations = 2, .replicas_consumed = 2};
  TPUContext::Deployment second = first;
  second.invocation_index = 1;
  EXPECT_EQ(batches_of(hosts.train_input, 2, first), (Texts{"-2 -1.5 ", "-0.2 0.2 ", "1.5 2 "}));
  EXPECT_EQ(batches_of(hosts.train_input, 2, second), (Texts{"-1 -0.5 ", "0.5 1 "}));
  // An evaluation reads each example once.
  EXPECT_EQ(batches_of(hosts.eval_input, 4, first), (Texts{"-2 -1.5 -1 -0.5 ", "1.5 2 "}));
  EXPECT_EQ(batches_of(hosts.eval_input, 4, second), (Texts{"-0.2 0.2 0.5 1 "}));
  // Batches of one replica: a process reads those of both of its replicas in one call.
  const TrainingConfig replicas = config_with("PER_HOST_V2");
  EXPECT_EQ(batches_of(replicas.train_input, 1, second), (Texts{"-1 ", "-0.5 ", "0.5 ", "1 "}));
  // One call for each replica, of four.
  const TrainingConfig shards = config_with("PER_SHARD_V1");
  EXPECT_EQ(batches_of(shards.train_input, 1, {.invocation_index = 3, .total_invocations = 4}),
            (Texts{"-0.5 ", "1 "}));
  // One call for all.
  EXPECT_EQ(batches_of(hosts.train_input, 5, {}).size(), 2);
}

// Sets a variable of the environment and removes it at the end.
class SetVariable {
 public:
  SetVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~SetVariable() { ::unsetenv(name_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* name_;
};

TEST_F(TrainingConfigTest, HonoursTheTpuOfTheEnvironmentOrSaysThatItDoesNot) {
  const SetVariable name("TPU_NAME", "local:v3-8");
  const LogCapture log;
  EXPECT_EQ(parse().estimator.config.master, "local:v3-8");
  EXPECT_EQ(parse({.set = {"run_config.master=local"}}).estimator.config.master, "local");
  EXPECT_EQ(parse({.set = {"estimator.use_tpu=false"}}).estimator.config.master, "");
  EXPECT_THAT(
      log.messages(),
      ::testing::IsSupersetOf({"warning: TPU_NAME: ignored, because run_config.master is 'local'",
                               "warning: TPU_NAME: ignored, because estimator.use_tpu is false"}));
}

TEST_F(TrainingConfigTest, Overrides) {
  const TrainingConfig config = parse({.set = {"estimator.train_batch_size=8", "train.max_steps=7",
                                               "run_config.tpu_config.iterations_per_loop=30s"},
                                       .model_dir = "elsewhere"});
  EXPECT_EQ(config.estimator.train_batch_size, 8);
  EXPECT_EQ(config.train.max_steps, 7);
  EXPECT_EQ(config.estimator.config.model_dir, "elsewhere");
  EXPECT_EQ(config.estimator.config.tpu_config.iterations_per_loop->seconds(), 30);
  const TrainingConfig steps = parse({.steps = 5});
  EXPECT_EQ(steps.train.steps, 5);
  EXPECT_FALSE(steps.train.max_steps);
  EXPECT_THAT(error_of({.model_dir = ""}),
              HasSubstr("--model_dir: got '', expected the name of a folder"));
}

TEST_F(TrainingConfigTest, BadFiles) {
  const struct {
    std::string set;
    std::string error;
  } rows[] = {
      {"modle=1",
       "--set modle: config, got 'modle', expected model, loss, optimizer, metrics, "
       "data, estimator, run_config, train, evaluate, did you mean 'model'?"},
      {"model.layers=3", "--set model.layers: model layers, got '3', expected a list of layers"},
      {"loss=softmax", "--set loss: loss, got 'softmax', expected absolute_difference, "},
      {"optimizer=AdamOptimiser", "did you mean 'AdamOptimizer'?"},
      {"optimizer=MomentumOptimizer",
       "MomentumOptimizer, got no learning_rate, expected a number or a schedule"},
      {"optimizer={AdamOptimizer: {learning_rate: {cosine: 3}}}",
       "AdamOptimizer learning_rate, got 'cosine', expected cosine_decay, "},
      {"metrics=[acc]", "metric, got 'acc', expected "},
      {"metrics=[accuracy, accuracy]", "metric, got 'accuracy' twice, expected each once"},
      {"loss=huber_loss", "metric, got 'accuracy' with a loss of numbers"},
      {"data.labels=z", "data labels, got 'z', expected a feature of data train: x, y"},
      {"data.train=[range: 3, batch: 2]", "data train, got a batch stage, expected single"},
      {"data.train=[rnge: 3]", "source, got 'rnge', expected tfrecord, csv, "},
      {"data.train.0.csv.files=nowhere.csv", "nowhere.csv"},
      {"estimator.train_batch_size=", "estimator train_batch_size, got nothing"},
      {"run_config.tpu_config.iterations_per_loop=0",
       "run_config.tpu_config iterations_per_loop, got '0', expected a positive integer, or 30s"},
      {"run_config.tpu_config.check=maybe", "check, got 'maybe', expected error, warn, off"},
      {"run_config.tpu_config.num_shards=0",
       "--set run_config.tpu_config.num_shards: run_config.tpu_config num_shards, got 0, expected "
       "an integer of at least 1"},
      {"run_config.save_checkpoints_steps=-1",
       "--set run_config.save_checkpoints_steps: run_config save_checkpoints_steps, got -1, "},
      {"run_config.master=foo", "--set run_config.master: Session: target, got 'foo', expected ''"},
      {"run_config={model_dir: m, keep_checkpoint_every_n_hours: 0}",
       "--set run_config: RunConfig: keep_checkpoint_every_n_hours, got 0, expected > 0"},
      {"estimator.train_batch_size=0",
       "--set estimator.train_batch_size: estimator train_batch_size, got 0, expected an integer "
       "of at least 1"},
      {"train.max_steps=0", "train max_steps, got 0, expected an integer of at least 1"},
      {"train.steps=3", "train max_steps, got steps beside it, expected one of the two"},
      {"run_config.model_dir=''", "tiny.yaml:1:1: run_config, got no model_dir, expected a folder"},
      {"nothing", "--set: assignment, got 'nothing', expected a path, = and a value"},
  };
  for (const auto& [set, error] : rows) {
    EXPECT_THAT(error_of({.set = {set}}), HasSubstr(error)) << set;
  }
}

TEST_F(TrainingConfigTest, BadNumbers) {
  const struct {
    std::string set;
    std::string error;
  } rows[] = {
      {"optimizer={AdamOptimizer: -0.1}",
       "--set optimizer: AdamOptimizer learning_rate, got -0.1, expected a number of at least 0"},
      {"optimizer={AdamOptimizer: .nan}", "AdamOptimizer learning_rate, got nan, expected "},
      {"optimizer={AdamOptimizer: .inf}", "AdamOptimizer learning_rate, got inf, expected "},
      {"optimizer={AdamOptimizer: {beta1: 1}}",
       "AdamOptimizer beta1, got 1, expected a number of at least 0 and below 1"},
      {"optimizer={MomentumOptimizer: {learning_rate: 0.1, momentum: 7}}",
       "MomentumOptimizer momentum, got 7, expected "},
      {"optimizer={AdamOptimizer: {learning_rate: {cosine_decay: {learning_rate: 1, decay_steps: "
       "0}}}}",
       "--set optimizer: cosine_decay decay_steps, got 0, expected an integer of at least 1"},
      {"optimizer={AdamOptimizer: {learning_rate: {exponential_decay: {learning_rate: 1, "
       "decay_steps: 9, decay_rate: -0.5}}}}",
       "exponential_decay decay_rate, got -0.5, expected a number of at least 0"},
      {"optimizer={AdamOptimizer: {learning_rate: {piecewise_constant: {boundaries: [5, 3], "
       "values: [1, 2, 3]}}}}",
       "piecewise_constant boundaries, got [5, 3], expected rising steps"},
      {"optimizer={AdamOptimizer: {learning_rate: {piecewise_constant: {boundaries: [5], values: "
       "[1, -2]}}}}",
       "piecewise_constant values, got -2, expected a number of at least 0"},
  };
  for (const auto& [set, error] : rows) {
    EXPECT_THAT(error_of({.set = {set}}), HasSubstr(error)) << set;
  }
}

TEST_F(TrainingConfigTest, ErrorsOfTheModelNameTheLineOfTheFile) {
  const LogCapture quiet;
  const TrainingConfig config =
      parse({.set = {"model.layers=[Dense: 2, Flatten, {Reshape: [-1, 3]}]"}});
  TPUEstimator estimator(config.estimator);
  try {
    estimator.train(config.train_input, config.train);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("--set model.layers: total size of new array must be unchanged"))
        << error.what();
  }
}

TEST_F(TrainingConfigTest, AxesOutOfRangeNameTheLineOfTheFile) {
  const LogCapture quiet;
  for (const std::string layer :
       {"BatchNormalization: {axis: 7}", "LayerNormalization: {axis: 7}"}) {
    const TrainingConfig config = parse({.set = {"model.layers.1={" + layer + "}"}});
    TPUEstimator estimator(config.estimator);
    EXPECT_THAT(
        systole::testing::error_of([&] { estimator.train(config.train_input, config.train); }),
        AllOf(HasSubstr("--set model.layers.1"), HasSubstr("axis, got 7, expected in [-2, 2)")))
        << layer;
  }
}

// docs/training.md shows what the code has.
TEST(ConfigReferenceTest, TheDocumentationIsThatOfTheCode) {
  if (!std::filesystem::exists("docs/training.md")) GTEST_SKIP() << "not in the source tree";
  const std::string page = read_file(local_file_system(), "docs/training.md");
  EXPECT_NE(page.find(config_reference()), std::string::npos)
      << "docs/training.md: put `systole train --keys` below its heading Reference";
}

}  // namespace
}  // namespace systole::app
