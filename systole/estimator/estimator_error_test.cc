// What estimators refuse, in TensorFlow's words where it has them, what each way of giving input is
// told, and what a run survives.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/local/local_file_system.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/loop/model_dir_lock.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
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
  TPUEstimatorOptions options() {
    return {.model_fn = model,
            .model_dir = folder_.path(),
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

  const TempFolder folder_;
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
    spec.eval_metrics = {[mean](const Output&) { return MetricMap(mean); }, {labels.leaf()}};
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
                    folder_.path(), estimator::build_raw_serving_input_receiver_fn(
                                        TensorType{DType::f32, {kUnknown, 2}}));
              }),
              HasSubstr("One of export_to_cpu and export_to_tpu must be true."));
}

TEST_F(EstimatorErrorTest, input_of_the_wrong_structure) {
  const auto train = [&](const InputFn& input_fn) {
    return error_of([&] { TPUEstimator(options()).train(input_fn, {.max_steps = 2}); });
  };
  const auto of = [](Element element, int64_t batch) -> InputFn {
    return [element = std::move(element), batch](const Params&) {
      return Dataset::from_tensor_slices(element).repeat().batch(batch, true);
    };
  };
  EXPECT_THAT(train(of(data()[0], 16)),
              HasSubstr("structure, got (), expected a single value (input_fn gives features "
                        "without labels"));
  EXPECT_THAT(train(of(Element::dict({{"x", data()[0].leaf()}}), 16)), HasSubstr("x"));
  EXPECT_THAT(train(of(data(), 12)),
              HasSubstr("input_fn: batch, got 12 examples (f32[12,2]), expected "
                        "params[\"batch_size\"] = 16"));
  // A forgotten batch().
  EXPECT_THAT(train([](const Params&) {
                return Dataset::from_tensor_slices(
                    Element::tuple({data()[0], Tensor::zeros(DType::s32, {kExamples})}));
              }),
              HasSubstr("input_fn: elements, got (f32[2], s32[]), which are single examples, "
                        "expected batches: add batch(params[\"batch_size\"]"));
  EXPECT_THAT(
      train([](const Params&) {
        const Dataset of_16 = Dataset::from_tensor_slices(data()).repeat().batch(16, true);
        return of_16.map_cpp(
            [](const Element& element) {
              return Element::tuple({element[0], element[1].leaf().slice(0, 8)});
            },
            ElementSpec::tuple({TensorType{DType::f32, {16, 2}}, TensorType{DType::f32, {8, 1}}}));
      }),
      HasSubstr("first dimension of features and labels, got 1 and 2"));
  EXPECT_THAT(train(nullptr), HasSubstr("input_fn: function, got none"));
}

TEST_F(EstimatorErrorTest, steps_of_an_evaluation_are_positive) {
  TPUEstimator estimator = trained(options());
  EXPECT_THAT(error_of([&] { estimator.evaluate(batches, {.steps = 0}); }),
              HasSubstr("Must specify steps > 0, given: 0"));
}

TEST_F(EstimatorErrorTest, a_checkpoint_that_is_not_there) {
  TPUEstimator estimator = trained(options());
  EXPECT_EQ(error_of([&] {
              estimator.evaluate(batches,
                                 {.steps = 1, .checkpoint_path = folder_ / "model.ckpt-7"});
            }),
            fmt::format("NOT_FOUND: checkpoint_path: checkpoint, got '{0}/model.ckpt-7', expected "
                        "the prefix of one: the latest there is '{0}/model.ckpt-2'",
                        folder_.path()));
}

TEST_F(EstimatorErrorTest, a_warm_start_from_nothing) {
  TPUEstimatorOptions all = options();
  all.warm_start_from = "/no/such/checkpoint";
  EXPECT_THAT(error_of([&] { TPUEstimator(all).train(batches, {.max_steps = 2}); }),
              HasSubstr("/no/such/checkpoint"));
}

TEST_F(EstimatorErrorTest, a_warm_start_of_no_variable) {
  TPUEstimatorOptions all = options();
  all.warm_start_from = "/some/checkpoint";
  all.warm_start_from.vars_to_warm_start = "nothing.*";
  EXPECT_THAT(
      error_of([&] { TPUEstimator(all).train(batches, {.max_steps = 2}); }),
      HasSubstr("warm_start_from: vars_to_warm_start, got 'nothing.*', expected a pattern"));
}

TEST_F(EstimatorErrorTest, a_checkpoint_of_another_model_is_not_taken) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    const Output more = layers::dense(features, {.units = 2, .name = "lines"});
    return model(more, labels, mode, params);
  };
  const std::string error = error_of([&] { trained(all).train(batches, {.max_steps = 4}); });
  for (const char* part : {"model.ckpt-2: a checkpoint of another model: 2 of 5 variables of the "
                           "graph do not match it",
                           "'lines/kernel' f32[2,2]: not in the checkpoint"}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
}

TEST_F(EstimatorErrorTest, training_goes_on_with_another_number_of_cores) {
  TPUEstimatorOptions whole = options();
  whole.model_dir = folder_ / "whole";
  TPUEstimator in_one(whole);
  in_one.train(batches, {.max_steps = 6});
  TPUEstimatorOptions all = options();
  all.model_dir = folder_ / "parts";
  TPUEstimator(all).train(batches, {.max_steps = 2});
  all.config.master = "local:4";
  TPUEstimator(all).train(batches, {.max_steps = 4});
  all.use_tpu = false;
  TPUEstimator in_parts(all);
  in_parts.train(batches, {.max_steps = 6});
  const Tensor kernel = in_one.get_variable_value("line/kernel");
  for (int64_t i = 0; i < kernel.num_elements(); ++i) {
    EXPECT_NEAR(in_parts.get_variable_value("line/kernel").as_double(i), kernel.as_double(i), 1e-5);
  }
}

// Changes a bit in the middle.
void damage(const std::string& path) {
  std::string bytes = read_file(local_file_system(), path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file_atomically(local_file_system(), path, bytes);
}

// As training does. Nothing but the weights is needed.
TEST_F(EstimatorErrorTest, evaluation_prediction_and_export_pass_over_a_damaged_checkpoint) {
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 2;
  TPUEstimator(all).train(batches, {.max_steps = 4});
  damage(folder_ / "model.ckpt-4.data-00000-of-00001");
  damage(folder_ / "model.ckpt-2.systole");
  for (const bool named : {true, false}) {
    if (!named) std::filesystem::remove(folder_ / "checkpoint");
    const LogCapture log;
    TPUEstimator estimator(all);
    EXPECT_EQ(estimator.evaluate(batches, {.steps = 1})["global_step"], 2);
    EXPECT_TRUE(estimator.predict(features_once).next().has_value());
    EXPECT_NO_THROW(estimator.export_saved_model(
        folder_ / "export",
        estimator::build_raw_serving_input_receiver_fn(TensorType{DType::f32, {kUnknown, 2}})));
    EXPECT_EQ(std::ranges::count_if(
                  log.messages(),
                  [](const std::string& line) {
                    return line.find(
                               "model.ckpt-4: this checkpoint cannot be read; going back to "
                               "the one before it") != std::string::npos;
                  }),
              3);
    EXPECT_THAT(error_of([&] {
                  estimator.evaluate(batches,
                                     {.steps = 1, .checkpoint_path = folder_ / "model.ckpt-4"});
                }),
                ::testing::StartsWith("DATA_LOSS: "))
        << "the one that was asked for";
  }
}

TEST_F(EstimatorErrorTest, a_damaged_checkpoint_is_passed_over) {
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 2;
  TPUEstimator(all).train(batches, {.max_steps = 4});
  damage(folder_ / "model.ckpt-4.data-00000-of-00001");
  const LogCapture log;
  TPUEstimator estimator(all);
  estimator.train(batches, {.max_steps = 6});
  EXPECT_THAT(log.messages(), Contains(HasSubstr("model.ckpt-4: this checkpoint cannot be read; "
                                                 "going back to the one before it")));
  EXPECT_THAT(log.messages(), Contains(::testing::EndsWith("model.ckpt-2")));
  EXPECT_EQ(estimator.get_variable_value("global_step").item<int64_t>(), 6);
}

// The file `checkpoint` is lost, the checkpoints are not.
TEST_F(EstimatorErrorTest, a_lost_checkpoint_file_loses_no_training) {
  trained(options());
  std::filesystem::remove(folder_ / "checkpoint");
  const LogCapture log;
  TPUEstimator estimator(options());
  EXPECT_THAT(estimator.latest_checkpoint(), ::testing::EndsWith("model.ckpt-2"));
  estimator.train(batches, {.max_steps = 4});
  EXPECT_THAT(estimator.latest_checkpoint(), ::testing::EndsWith("model.ckpt-4"));
  EXPECT_THAT(log.messages(), Contains(HasSubstr("no such file, or it names no checkpoint; found "
                                                 "model.ckpt-2, model.ckpt-0; the newest is "
                                                 "used")));
  EXPECT_THAT(log.messages(), Contains(::testing::EndsWith("from " + (folder_ / "model.ckpt-2"))));
}

TEST_F(EstimatorErrorTest, a_lost_position_is_told) {
  trained(options());
  const std::string extras = folder_ / "model.ckpt-2.systole";
  const std::string bytes = read_file(local_file_system(), extras);
  std::filesystem::remove(extras);
  {
    const LogCapture log;
    TPUEstimator(options()).train(batches, {.max_steps = 4});
    EXPECT_THAT(log.messages(),
                Contains(HasSubstr("model.ckpt-2: no input position and random numbers beside the "
                                   "weights; both start anew")));
  }
  write_file_atomically(local_file_system(), folder_ / "model.ckpt-4.systole",
                        std::string_view(bytes).substr(0, bytes.size() - 1));
  const auto train_on = [&](bool allow) {
    TPUEstimatorOptions all = options();
    all.config.allow_weights_only = allow;
    TPUEstimator(all).train(batches, {.max_steps = 6});
  };
  EXPECT_THAT(error_of([&] { train_on(false); }),
              HasSubstr("the weights of " + (folder_ / "model.ckpt-4") +
                        " are intact: set allow_weights_only"));
  train_on(true);
  EXPECT_THAT(TPUEstimator(options()).latest_checkpoint(), ::testing::EndsWith("model.ckpt-6"));
}

TEST_F(EstimatorErrorTest, files_that_cannot_be_written) {
  TPUEstimatorOptions nowhere = options();
  nowhere.model_dir = "/proc/model_dir";
  EXPECT_THAT(error_of([&] { TPUEstimator(nowhere).train(batches, {.max_steps = 2}); }),
              HasSubstr("/proc/model_dir"));
  // As on a disk that is full.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 16, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error =
      error_of([&] { TPUEstimator(options()).train(batches, {.max_steps = 2}); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr(folder_.path()));
  EXPECT_EQ(TPUEstimator(options()).latest_checkpoint(), "");
  EXPECT_THAT(trained(options()).latest_checkpoint(), ::testing::EndsWith("model.ckpt-2"));
}

TEST_F(EstimatorErrorTest, one_training_has_a_model_dir) {
  const ModelDirLock other(folder_.path());
  EXPECT_THAT(error_of([&] { TPUEstimator(options()).train(batches, {.max_steps = 2}); }),
              HasSubstr(fmt::format("in use by process {}", ::getpid())));
}

class Raises : public SessionRunHook {
 public:
  void after_run(RunContext&, std::span<const Tensor>) override { std::raise(SIGTERM); }
};

TEST_F(EstimatorErrorTest, a_signal_ends_the_loop_and_saves) {
  const LogCapture log;
  TPUEstimator estimator(options());
  estimator.train(batches, {.max_steps = 20, .hooks = {std::make_shared<Raises>()}});
  EXPECT_THAT(estimator.latest_checkpoint(), ::testing::EndsWith("model.ckpt-2"));
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr("SIGTERM: training stops after step 2, which is saved")));
}

TEST_F(EstimatorErrorTest, a_signal_ends_training_without_an_evaluation) {
  TPUEstimator estimator(options());
  const Evaluation none = train_and_evaluate(
      estimator, {.input_fn = batches, .max_steps = 20, .hooks = {std::make_shared<Raises>()}},
      {.input_fn = batches, .steps = 1});
  EXPECT_EQ(none.examples(), 0);
  EXPECT_THAT(estimator.latest_checkpoint(), ::testing::EndsWith("model.ckpt-2"));
}

TEST_F(EstimatorErrorTest, a_signal_ends_an_evaluation) {
  const auto hook = std::make_shared<Raises>();
  TPUEstimator estimator = trained(options());
  const std::string error =
      "evaluate: metrics, got SIGTERM after 1 batch, expected the end of the input";
  EXPECT_EQ(error_of([&] { estimator.evaluate(batches, {.steps = 100, .hooks = {hook}}); }),
            "CANCELLED: " + error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "eval"));
  // And the training that it belongs to, whose last step is saved.
  const LogCapture log;
  const Evaluation none = train_and_evaluate(estimator, {.input_fn = batches, .max_steps = 20},
                                             {.input_fn = batches, .steps = 100, .hooks = {hook}});
  EXPECT_EQ(none.examples(), 0);
  EXPECT_THAT(log.messages(), Contains(HasSubstr(error)));
}

TEST_F(EstimatorErrorTest, another_input_than_the_checkpoints_begins_anew) {
  const LogCapture log;
  TPUEstimatorOptions wider = options();
  wider.train_batch_size = 32;
  TPUEstimator estimator = trained(wider);
  estimator.train(batches, {.max_steps = 4});
  EXPECT_THAT(estimator.latest_checkpoint(), ::testing::EndsWith("model.ckpt-4"));
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr(
                  "input: starts from its beginning; the checkpoint has the position of another: "
                  "iterator state: stage, got '(f32[16,2], f32[16,1])'")));
}

// What a stage with threads read ahead, and failed at, does not end the next training too.
TEST_F(EstimatorErrorTest, an_error_read_ahead_is_not_in_the_checkpoint) {
  auto failed = std::make_shared<std::atomic<bool>>(false);
  const auto bad_fourth = [&](const Params& params) {
    const auto fail = [i = std::make_shared<std::atomic<int>>(0), failed](const Element& batch) {
      if (++*i == 4 && !failed->exchange(true)) throw not_found("the fourth batch");
      return batch;
    };
    const auto wait = [failed](const Element& batch) {
      while (!failed->load()) std::this_thread::yield();
      return batch;
    };
    const ElementSpec spec = batches(params).element_spec();
    return batches(params).map_cpp(fail, spec).prefetch(8).map_cpp(wait, spec);
  };
  TPUEstimator(options()).train(bad_fourth, {.max_steps = 2});
  const LogCapture log;
  TPUEstimator(options()).train(bad_fourth, {.max_steps = 6});
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr("failed before the checkpoint is left out: the fourth batch")));
}

TEST_F(EstimatorErrorTest, an_input_that_ends_early_is_told) {
  const LogCapture log;
  const auto short_input = [](const Params& params) { return batches(params).take(3); };
  TPUEstimator(options()).train(short_input, {.max_steps = 8});
  EXPECT_THAT(log.messages(), Contains(HasSubstr("input: ended after step 3 of 8")));
}

TEST_F(EstimatorErrorTest, of_no_examples_there_are_no_metrics) {
  const LogCapture log;
  const auto nothing = [](const Params& params) { return batches(params).take(0); };
  const Evaluation evaluation = trained(options()).evaluate(nothing);
  EXPECT_EQ(evaluation.examples(), 0);
  EXPECT_EQ(evaluation.values().size(), 1);
  EXPECT_EQ(evaluation["global_step"], 2);
  EXPECT_THAT(log.messages(), Contains(HasSubstr("evaluate: input, got no examples")));
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
    std::filesystem::remove_all(folder_.path());
    TPUEstimatorOptions all = options();
    all.config.tpu_config.per_host_input_for_training = c.config;
    int64_t of_replica = 0;
    all.model_fn = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                       const Params& params) {
      of_replica = params["batch_size"];
      const auto context = params["context"].as<TPUContext>();
      EXPECT_EQ(context.num_replicas(), 8);
      EXPECT_EQ(error_of([&] { context.current_input_fn_deployment(); }),
                "FAILED_PRECONDITION: This TPUContext instance must not be called from model_fn.");
      EXPECT_EQ(features.leaf().shape()[0], of_replica);
      return model(features, labels, mode, params);
    };
    std::vector<int64_t> told;
    TPUEstimator estimator(all);
    estimator.train(
        [&](const Params& params) {
          const auto context = params["context"].as<TPUContext>();
          const TPUContext::Deployment& call = context.current_input_fn_deployment();
          EXPECT_EQ(call.invocation_index, static_cast<int64_t>(told.size()));
          EXPECT_EQ(call.total_invocations, c.calls);
          EXPECT_EQ(call.replicas_consumed, 8 / c.calls);
          EXPECT_EQ(context.current_host(), 0);
          EXPECT_EQ(context.device_for_replica(7),
                    std::pair(std::string("/task:0/device:CPU:0"), int64_t{7}));
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
