// What estimators refuse, in TensorFlow's words where it has them, and what each way of giving
// input is told.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kExamples = 64;

Element data() {
  return Element::tuple(
      {Tensor::full(DType::f32, {kExamples, 2}, 0.5), Tensor::full(DType::f32, {kExamples, 1}, 1)});
}

Dataset batches(const Params& params) {
  const int64_t batch = params["batch_size"];
  return Dataset::from_tensor_slices(data()).repeat().batch(batch, true);
}

// Examples once, without labels.
Dataset features_once(const Params& params) {
  const int64_t batch = params["batch_size"];
  return Dataset::from_tensor_slices(data()[0]).batch(batch);
}

TPUEstimatorSpec model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                       const Params&) {
  const Output y = layers::dense(features, {.units = 1, .name = "line"});
  if (mode == ModeKeys::PREDICT) return {.mode = mode, .predictions = y};
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  return {.mode = mode,
          .loss = loss,
          .train_op = CrossShardOptimizer(GradientDescentOptimizer(0.1))
                          .minimize(loss, {.global_step = get_global_step()})};
}

class EstimatorErrorTest : public ::testing::Test {
 protected:
  ~EstimatorErrorTest() override { std::filesystem::remove_all(folder_); }

  TPUEstimatorOptions options() {
    return {.model_fn = model,
            .model_dir = folder_.string(),
            .config = {.tf_random_seed = 3, .tpu_config = {.iterations_per_loop = 2}},
            .train_batch_size = 16,
            .eval_batch_size = 8,
            .predict_batch_size = 8};
  }
  // After two steps.
  TPUEstimator trained(TPUEstimatorOptions all) {
    TPUEstimator(options()).train(batches, {.max_steps = 2});
    return TPUEstimator(std::move(all));
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("systole_errors_{}", ::getpid());
};

TEST_F(EstimatorErrorTest, batch_sizes_that_are_missing_or_cannot_be_split) {
  struct Case {
    std::optional<int64_t> eval;
    std::optional<int64_t> predict;
    std::string evaluate_error;
    std::string predict_error;
  };
  const std::vector<Case> cases = {
      {std::nullopt, std::nullopt,
       "eval_batch_size in TPUEstimator constructor cannot be `None` if .evaluate is running on "
       "TPU",
       "predict_batch_size in TPUEstimator constructor cannot be `None` if .predict is running on "
       "TPU"},
      {12, 20, "eval batch size 12 must be divisible by number of replicas 8: use 8 or 16",
       "predict batch size 20 must be divisible by number of replicas 8: use 16 or 24"}};
  for (const Case& c : cases) {
    TPUEstimatorOptions all = options();
    all.eval_batch_size = c.eval;
    all.predict_batch_size = c.predict;
    TPUEstimator estimator = trained(all);
    EXPECT_THAT(error_of([&] { estimator.evaluate(batches, {.steps = 1}); }),
                HasSubstr(c.evaluate_error));
    EXPECT_THAT(error_of([&] { estimator.predict(features_once); }), HasSubstr(c.predict_error));
  }
}

TEST_F(EstimatorErrorTest, training_that_is_done_is_skipped) {
  TPUEstimator estimator = trained(options());
  const LogCapture log;
  estimator.train(batches, {.max_steps = 2});
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr("Skipping training since max_steps has already saved.")));
}

TEST_F(EstimatorErrorTest, listeners_need_checkpoints) {
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 0;
  TrainOptions train{.max_steps = 2};
  train.saving_listeners.emplace_back([](Session&, int64_t) {});
  EXPECT_THAT(error_of([&] { TPUEstimator(all).train(batches, train); }),
              HasSubstr("There should be a CheckpointSaverHook to use saving_listeners."));
}

TEST_F(EstimatorErrorTest, predictions_that_cannot_be) {
  TPUEstimator one = trained(options());
  EXPECT_THAT(error_of([&] { one.predict(features_once, {.predict_keys = {"y"}}); }),
              HasSubstr("predict_keys argument is not valid in case of non-dict predictions."));
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    TPUEstimatorSpec spec = model(features, labels, mode, params);
    spec.predictions = reduce_sum(features);
    return spec;
  };
  EXPECT_THAT(error_of([&] { trained(all).predict(features_once); }),
              HasSubstr("expected the batch of 1 examples as the first dimension"));
}

TEST_F(EstimatorErrorTest, metrics_are_given_once) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    TPUEstimatorSpec spec = model(features, labels, mode, params);
    const MetricMap mean = {{"mean", metrics::mean({.values = labels})}};
    spec.eval_metric_ops = mean;
    spec.eval_metrics = {[mean](const Output&) { return mean; }, {labels.leaf()}};
    return spec;
  };
  EXPECT_THAT(error_of([&] { trained(all).evaluate(batches, {.steps = 1}); }),
              HasSubstr("metric 'mean', got it in eval_metrics and in eval_metric_ops"));
}

TEST_F(EstimatorErrorTest, evaluation_says_how_much_there_was) {
  TPUEstimator estimator = trained(options());
  const LogCapture log;
  const Evaluation result = estimator.evaluate(
      [](const Params& params) {
        const int64_t batch = params["batch_size"];
        return Dataset::from_tensor_slices(data()).take(13).batch(batch);
      },
      {.steps = 5});
  EXPECT_EQ(result.examples(), 13);
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr("the input ended after 2 of 5 batches (13 examples)")));
}

TEST_F(EstimatorErrorTest, sliced_input_and_exports_need_a_device) {
  TPUEstimatorOptions sliced = options();
  sliced.use_tpu = false;
  sliced.config.tpu_config.eval_training_input_configuration = InputPipelineConfig::SLICED;
  EXPECT_THAT(error_of([&] { TPUEstimator{sliced}; }),
              HasSubstr("SLICED mode only works on use_tpu = True."));
  TPUEstimatorOptions nowhere = options();
  nowhere.export_to_tpu = false;
  nowhere.export_to_cpu = false;
  EXPECT_THAT(error_of([&] {
                TPUEstimator(nowhere).export_saved_model(
                    folder_.string(), estimator::build_raw_serving_input_receiver_fn(
                                          TensorType{DType::f32, {kUnknown, 2}}));
              }),
              HasSubstr("One of export_to_cpu and export_to_tpu must be true."));
}

// A model_fn or an input_fn that throws is heard.
TEST_F(EstimatorErrorTest, the_first_cause_is_the_error) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>&, const Nest<Output>&, Mode,
                    const Params&) -> TPUEstimatorSpec { throw not_found("no such layer"); };
  EXPECT_THAT(error_of([&] { TPUEstimator(all).train(batches, {.max_steps = 2}); }),
              HasSubstr("NOT_FOUND: no such layer"));
  EXPECT_THAT(error_of([&] {
                TPUEstimator(options()).train(
                    [](const Params&) -> InputFnResult { throw not_found("no such file"); },
                    {.max_steps = 2});
              }),
              HasSubstr("NOT_FOUND: no such file"));
  // Met by the thread that reads ahead.
  EXPECT_THAT(error_of([&] {
                TPUEstimator(options()).train(
                    [](const Params& params) {
                      const int64_t batch = params["batch_size"];
                      int64_t count = 0;
                      return Dataset::from_tensor_slices(data())
                          .map_cpp(
                              [count](const Element& element) mutable {
                                if (++count == 50) throw make_error(Code::data_loss, "torn record");
                                return element;
                              },
                              Dataset::from_tensor_slices(data()).element_spec())
                          .batch(batch, true);
                    },
                    {.max_steps = 20});
              }),
              HasSubstr("torn record"));
}

TEST_F(EstimatorErrorTest, each_input_pipeline_has_its_batch_size) {
  struct Case {
    InputPipelineConfig config;
    int64_t calls;
    int64_t batch;  // that input_fn is told
    int64_t of_replica;
  };
  const std::vector<Case> cases = {{InputPipelineConfig::PER_HOST_V1, 1, 16, 2},
                                   {InputPipelineConfig::PER_HOST_V2, 1, 2, 2},
                                   {InputPipelineConfig::PER_SHARD_V1, 8, 2, 2},
                                   {InputPipelineConfig::BROADCAST, 1, 16, 16}};
  for (const Case& c : cases) {
    std::filesystem::remove_all(folder_);
    TPUEstimatorOptions all = options();
    all.config.tpu_config.per_host_input_for_training = c.config;
    int64_t of_replica = 0;
    all.model_fn = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                       const Params& params) {
      of_replica = params["batch_size"];
      EXPECT_EQ(features.leaf().shape()[0], of_replica);
      return model(features, labels, mode, params);
    };
    std::vector<int64_t> told;
    TPUEstimator estimator(all);
    estimator.train(
        [&](const Params& params) {
          told.push_back(params["batch_size"]);
          return batches(params);
        },
        {.max_steps = 4});
    EXPECT_EQ(told, std::vector<int64_t>(static_cast<size_t>(c.calls), c.batch));
    EXPECT_EQ(of_replica, c.of_replica);
    EXPECT_EQ(estimator.get_variable_value("global_step").item<int64_t>(), 4);
  }
}

}  // namespace
}  // namespace systole
