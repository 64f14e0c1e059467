// Rows of TPUEstimator's contract that no other test is about: what each way of giving input, each
// option and each part of a spec means in every mode.
#include <gmock/gmock.h>

#include <filesystem>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/estimator/testing/line_examples.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/local/local_file_system.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/loop/summary_saver_hook.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// x = 1, 2, 3..., y = 2 x.
Element counted(int64_t n) {
  return systole::testing::line_examples(n, 2, [](int64_t i) { return static_cast<float>(i + 1); });
}

Dataset forever(const Params& params) {
  const int64_t batch = params["batch_size"];
  return Dataset::from_tensor_slices(counted(64)).repeat().batch(batch, true);
}

InputFn once(int64_t n) {
  return [n](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(counted(n)).batch(batch);
  };
}

InputFn features_of(int64_t n) {
  return [n](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(counted(n)[0]).batch(batch);
  };
}

TPUEstimatorSpec counting_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                                const Params&) {
  const Output x = features;
  const Output y = layers::dense(multiply(x, 0.001F), {.units = 1, .name = "line"});
  if (mode == ModeKeys::PREDICT) {
    return {.mode = mode, .predictions = Nest<Output>::dict({{"x", x}, {"y", y}})};
  }
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  return {.mode = mode,
          .loss = loss,
          .train_op = CrossShardOptimizer(GradientDescentOptimizer(1e-4))
                          .minimize(loss, {.global_step = get_global_step()}),
          .eval_metrics = {[](const Output& l) -> MetricMap {
                             return {{"mean", metrics::mean({.values = l})}};
                           },
                           {labels.leaf()}}};
}

// The model, and what `change` makes of its spec.
ModelFn changed(const std::function<void(TPUEstimatorSpec& spec, const Output& x)>& change) {
  return [change](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                  const Params& params) {
    TPUEstimatorSpec spec = counting_model(features, labels, mode, params);
    change(spec, features.leaf());
    return spec;
  };
}

std::vector<double> numbers_of(const Tensor& value) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < value.num_elements(); ++i) numbers.push_back(value.as_double(i));
  return numbers;
}

class ContractTest : public ::testing::Test {
 protected:
  TPUEstimatorOptions options(const std::string& name = "model") {
    return {.model_fn = counting_model,
            .model_dir = folder_ / name,
            .config = {.tf_random_seed = 3, .tpu_config = {.iterations_per_loop = 2}},
            .train_batch_size = 16,
            .eval_batch_size = 8,
            .predict_batch_size = 8};
  }
  static TPUEstimator trained(const TPUEstimatorOptions& all) {
    TPUEstimator estimator(all);
    estimator.train(forever, {.max_steps = 2});
    return estimator;
  }

  const TempFolder folder_;
};

TEST_F(ContractTest, every_input_pipeline_evaluates_and_predicts_exactly) {
  struct Case {
    InputPipelineConfig config;
    InputPipelineConfig eval = InputPipelineConfig::PER_HOST_V1;
    int64_t told = 8;  // the batch size of an evaluation's input_fn
  };
  const std::vector<Case> cases = {
      {InputPipelineConfig::PER_HOST_V1},
      {InputPipelineConfig::PER_HOST_V2, InputPipelineConfig::PER_HOST_V1, 1},
      {InputPipelineConfig::PER_SHARD_V1},
      {InputPipelineConfig::BROADCAST},
      {InputPipelineConfig::PER_HOST_V2, InputPipelineConfig::SLICED},
      {InputPipelineConfig::BROADCAST, InputPipelineConfig::SLICED}};
  int number = 0;
  for (const Case& c : cases) {
    TPUEstimatorOptions all = options(fmt::format("model{}", number++));
    all.config.tpu_config.per_host_input_for_training = c.config;
    all.config.tpu_config.eval_training_input_configuration = c.eval;
    TPUEstimator estimator = trained(all);
    for (const int64_t n : {1, 7, 16, 21}) {
      std::vector<int64_t> told;
      const Evaluation result = estimator.evaluate([&](const Params& params) {
        told.push_back(params["batch_size"]);
        return once(n)(params);
      });
      EXPECT_THAT(told, ElementsAre(c.told)) << number;
      EXPECT_EQ(result.examples(), n) << number;
      EXPECT_NEAR(result["mean"], static_cast<double>(n + 1), 1e-5) << number;
      std::vector<double> predicted;
      for (const auto& prediction : estimator.predict(features_of(n))) {
        predicted.push_back(prediction["x"].leaf().as_double(0));
      }
      EXPECT_EQ(predicted, numbers_of(counted(n)[0].leaf())) << number;
    }
  }
}

TEST_F(ContractTest, a_batch_for_all_cores_need_not_be_split) {
  TPUEstimatorOptions all = options();
  all.config.tpu_config.per_host_input_for_training = InputPipelineConfig::BROADCAST;
  all.train_batch_size = 12;
  EXPECT_THAT(trained(all).latest_checkpoint(), EndsWith("model.ckpt-2"));
}

TEST_F(ContractTest, one_shard_is_one_core) {
  TPUEstimatorOptions all = options();
  all.config.tpu_config.num_shards = 1;
  all.train_batch_size = 3;
  const LogCapture log;
  trained(all);
  EXPECT_THAT(log.messages(), Contains(HasSubstr("num_shards = 1: one of the 8 cores of 'local'")));
}

TEST_F(ContractTest, options_that_cannot_be) {
  TPUEstimatorOptions eval = options();
  eval.eval_batch_size = -1;
  EXPECT_THAT(error_of([&] { TPUEstimator{eval}; }),
              HasSubstr("eval_batch_size must be positive, got -1"));
  TPUEstimatorOptions predict = options();
  predict.predict_batch_size = 0;
  EXPECT_THAT(error_of([&] { TPUEstimator{predict}; }),
              HasSubstr("predict_batch_size must be positive, got 0"));
  TPUEstimatorOptions context = options();
  context.params = {{"context", 1}};
  EXPECT_THAT(error_of([&] { TPUEstimator{context}; }),
              HasSubstr("['batch_size', 'context'] are reserved keys but existed in params"));
}

TEST_F(ContractTest, params_say_where_the_model_runs) {
  TPUEstimatorOptions all = options();
  all.params = {{"use_tpu", "perhaps"}};
  all.eval_on_tpu = false;
  std::map<Mode, bool> use_tpu;
  std::map<Mode, int64_t> batch_size;
  all.model_fn = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                     const Params& params) {
    use_tpu[mode] = params["use_tpu"].as<bool>();
    batch_size[mode] = params["batch_size"];
    EXPECT_EQ(params.contains("context"), use_tpu[mode]);
    return counting_model(features, labels, mode, params);
  };
  TPUEstimator estimator = trained(all);
  estimator.evaluate(once(8));
  EXPECT_EQ(use_tpu, (std::map<Mode, bool>{{Mode::train, true}, {Mode::eval, false}}));
  EXPECT_EQ(batch_size, (std::map<Mode, int64_t>{{Mode::train, 2}, {Mode::eval, 8}}));
  all.use_tpu = false;
  const LogCapture log;
  const TPUEstimator elsewhere(all);
  EXPECT_THAT(log.messages(), Contains(HasSubstr("eval_on_tpu ignored because use_tpu is false.")));
}

TEST_F(ContractTest, host_calls_are_made_in_every_mode) {
  for (const bool use_tpu : {true, false}) {
    TPUEstimatorOptions all = options(use_tpu ? "tpu" : "cpu");
    all.use_tpu = use_tpu;
    std::vector<std::vector<double>> rows;
    std::vector<int64_t> scalars;
    all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output& x) {
      spec.host_call = {.fn =
                            [&rows, &scalars](std::span<const Tensor> values) {
                              rows.push_back(numbers_of(values[0]));
                              scalars.push_back(values[1].num_elements());
                            },
                        .tensors = {x, reduce_mean(x)}};
    });
    TPUEstimator estimator = trained(all);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[1].size(), 16U);
    EXPECT_EQ(rows[1].front(), 17);
    EXPECT_THAT(scalars, Each(use_tpu ? 8 : 1));
    // What fills up the last batch is not shown; every evaluation calls its own function.
    for (int again = 0; again < 2; ++again) {
      rows.clear();
      estimator.evaluate(once(11));
      EXPECT_THAT(rows, ElementsAre(numbers_of(counted(8)[0].leaf()), ElementsAre(9, 10, 11)));
    }
    rows.clear();
    int64_t predicted = 0;
    for (const auto& prediction : estimator.predict(features_of(11))) {
      predicted += prediction["x"].leaf().num_elements();
    }
    EXPECT_EQ(predicted, 11);
    EXPECT_THAT(rows, ElementsAre(numbers_of(counted(8)[0].leaf()), ElementsAre(9, 10, 11)));
  }
}

TEST_F(ContractTest, host_calls_of_some_steps_and_of_a_shared_batch) {
  TPUEstimatorOptions all = options();
  all.config.tpu_config = {.iterations_per_loop = 6,
                           .per_host_input_for_training = InputPipelineConfig::BROADCAST,
                           .experimental_host_call_every_n_steps = 4};
  std::vector<int64_t> sizes;
  all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output& x) {
    spec.host_call = {
        .fn =
            [&sizes](std::span<const Tensor> values) { sizes.push_back(values[0].num_elements()); },
        .tensors = {x}};
  });
  TPUEstimator(all).train(forever, {.max_steps = 6});
  EXPECT_THAT(sizes, ElementsAre(16, 16));  // of steps 1 and 5 of the loop, once each
}

TEST_F(ContractTest, without_a_tpu_host_calls_are_of_every_step) {
  TPUEstimatorOptions all = options();
  all.use_tpu = false;
  all.config.tpu_config = {.iterations_per_loop = 6, .experimental_host_call_every_n_steps = 4};
  int calls = 0;
  all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output& x) {
    spec.host_call = {.fn = [&calls](std::span<const Tensor>) { ++calls; }, .tensors = {x}};
  });
  TPUEstimator(all).train(forever, {.max_steps = 6});
  EXPECT_EQ(calls, 6);
}

// As the end of an input: what was trained is saved.
TEST_F(ContractTest, a_hook_that_is_out_of_range_ends_training) {
  class Ends : public SessionRunHook {
   public:
    void after_run(RunContext& context, std::span<const Tensor>) override {
      if (context.global_step() < 4) return;
      throw make_error(Code::out_of_range, "list: rows, got no more, expected some");
    }
  };
  TPUEstimator estimator(options());
  const LogCapture log;
  estimator.train(forever, {.max_steps = 100, .hooks = {std::make_shared<Ends>()}});
  EXPECT_THAT(estimator.latest_checkpoint(), EndsWith("model.ckpt-4"));
  EXPECT_THAT(log.messages(), Contains(HasSubstr("Ends: stops after step 4: list: rows")));
}

TEST_F(ContractTest, vector_metrics_are_in_the_event_file) {
  TPUEstimatorOptions all = options();
  all.model_fn = changed([](TPUEstimatorSpec& spec, const Output& x) {
    if (spec.mode != Mode::eval) return;
    const Output ones = cast(ones_like(x), DType::s32);
    spec.eval_metric_ops = {{"seen", metrics::confusion_matrix(
                                         {.labels = ones, .predictions = ones, .num_classes = 2})}};
  });
  TPUEstimator estimator = trained(all);
  EXPECT_EQ(estimator.evaluate(once(8)).tensor("seen").to_string(), "f32[2,2] {{0, 0}, {0, 8}}");
  const std::string folder = folder_ / "model/eval";
  const std::string name = local_file_system().list(folder).at(0);
  EXPECT_TRUE(summarize_events(local_file_system(), folder + "/" + name).tags.contains("seen"));
}

TEST_F(ContractTest, a_host_call_without_tensors_is_made) {
  TPUEstimatorOptions all = options();
  int calls = 0;
  all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output&) {
    spec.host_call = {.fn = [&calls](std::span<const Tensor>) { ++calls; }};
  });
  trained(all);
  EXPECT_EQ(calls, 2);
}

// A spec that leaves the mode out has the first.
TEST_F(ContractTest, specs_of_another_mode_and_of_another_graph) {
  TPUEstimatorOptions all = options();
  all.model_fn = changed([](TPUEstimatorSpec& spec, const Output&) { spec.mode = Mode::eval; });
  EXPECT_THAT(error_of([&] { trained(all); }),
              HasSubstr("TPUEstimatorSpec.mode, got eval, expected train"));
  all.model_fn = changed([](TPUEstimatorSpec& spec, const Output&) { spec.mode = Mode::train; });
  EXPECT_EQ(trained(all).evaluate(once(8)).examples(), 8);
  Graph other;
  const Output elsewhere = [&] {
    const GraphScope scope(other);
    return constant(Tensor(1.0F));
  }();
  all.model_dir = folder_ / "other";
  all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output&) {
    if (spec.mode == Mode::eval) spec.predictions = elsewhere;
  });
  TPUEstimator estimator = trained(all);
  EXPECT_THAT(error_of([&] { estimator.evaluate(once(8)); }),
              HasSubstr("prediction values with \"Const:0\" must be from the default graph"));
}

TEST_F(ContractTest, elements_are_features_or_pairs) {
  TPUEstimator estimator(options());
  const auto triples = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    const Tensor x = counted(64)[0].leaf();
    return Dataset::from_tensor_slices(Element::tuple({x, x, x})).batch(batch, true);
  };
  EXPECT_THAT(
      error_of([&] { estimator.train(triples, {.steps = 1}); }),
      HasSubstr("input_fn should return (features, labels) as a len 2 tuple, got one of 3"));
}

TEST_F(ContractTest, a_warm_start_that_is_not_there_names_the_option) {
  TPUEstimatorOptions all = options();
  all.warm_start_from = "nope";
  EXPECT_THAT(error_of([&] { trained(all); }), HasSubstr("warm_start_from: 'nope': "));
}

// What is wrong with a receiver names it and its line.
TEST_F(ContractTest, receivers_of_other_features_are_named) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    const Nest<Output> x = mode == Mode::predict ? features["x"] : features;
    return counting_model(x, labels, mode, params);
  };
  TPUEstimator estimator = trained(all);
  const auto receiver =
      estimator::build_raw_serving_input_receiver_fn({{"y", {DType::f32, {kUnknown, 1}}}});
  EXPECT_THAT(error_of([&] { estimator.export_saved_model(folder_ / "export", receiver); }),
              ::testing::ContainsRegex("got 'x'.*\\(features of the serving_input_receiver_fn at "
                                       "contract_test.cc:[0-9]+: \\{y"));
}

TEST_F(ContractTest, specs_that_cannot_be) {
  TPUEstimatorOptions metric = options();
  metric.model_fn = changed([](TPUEstimatorSpec& spec, const Output& x) {
    if (spec.mode == Mode::eval)
      spec.eval_metric_ops = {{"global_step", metrics::mean({.values = x})}};
  });
  TPUEstimator named = trained(metric);
  EXPECT_THAT(error_of([&] { named.evaluate(once(8)); }),
              HasSubstr("Metric with name \"global_step\" is not allowed"));
  const std::string error = "All hooks must be SessionRunHook instances";
  EXPECT_THAT(error_of([&] { named.train(forever, {.steps = 2, .hooks = {nullptr}}); }),
              HasSubstr(error));
  TPUEstimatorOptions hooks = options();
  hooks.model_fn = changed([](TPUEstimatorSpec& spec, const Output&) {
    if (spec.mode != Mode::train) spec.evaluation_hooks = spec.prediction_hooks = {nullptr};
  });
  TPUEstimator hooked(hooks);
  EXPECT_THAT(error_of([&] { hooked.evaluate(once(8)); }), HasSubstr(error));
  EXPECT_THAT(error_of([&] { hooked.predict(features_of(8)); }), HasSubstr(error));
}

// In place of the RunConfig's schedule, with all that a checkpoint of training holds.
TEST_F(ContractTest, a_checkpoint_hook_of_the_users_is_the_one_that_saves) {
  const auto hook =
      std::make_shared<CheckpointSaverHook>(CheckpointSaverHook::Options{.save_steps = 4});
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 2;
  std::vector<int64_t> saved;
  for (const int64_t end : {8, 12}) {
    TrainOptions train{.max_steps = end, .hooks = {hook}};
    train.saving_listeners.emplace_back([&](Session&, int64_t step) { saved.push_back(step); });
    TPUEstimator(all).train(forever, train);
  }
  EXPECT_THAT(saved, ElementsAre(0, 4, 8, 8, 12));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "model/model.ckpt-12.systole"));
  TPUEstimator estimator(all);
  EXPECT_THAT(error_of([&] { estimator.evaluate(once(8), {.hooks = {hook}}); }),
              HasSubstr("CheckpointSaverHook: save, got no function"));
}

// Counts the loops it has seen, in the checkpoint too.
class CountingHook : public SessionRunHook {
 public:
  void after_run(RunContext&, std::span<const Tensor>) override { ++loops; }
  std::string state_name() const override { return "loops"; }
  std::string save_state() const override { return std::to_string(loops); }
  void restore_state(std::string_view state) override { restored = state; }

  int loops = 0;
  std::string restored;
};

TEST_F(ContractTest, a_checkpoint_hook_of_the_users_saves_hooks_behind_it) {
  const auto saver =
      std::make_shared<CheckpointSaverHook>(CheckpointSaverHook::Options{.save_steps = 4});
  const auto counter = std::make_shared<CountingHook>();
  TPUEstimator estimator(options());
  estimator.train(forever, {.max_steps = 4, .hooks = {saver, counter}});
  estimator.train(forever, {.max_steps = 6, .hooks = {saver, counter}});
  EXPECT_EQ(counter->restored, "2");  // of two steps each
  EXPECT_THAT(error_of([&] {
                estimator.train(forever, {.steps = 2, .hooks = {saver, saver}});
              }),
              HasSubstr("hooks: CheckpointSaverHook without `save`, got a second one"));
}

// The steps at which a tag was written to the only event file of a folder.
std::vector<int64_t> steps_of(const std::string& folder, const std::string& tag) {
  std::vector<int64_t> steps;
  for (const std::string& name : local_file_system().list(folder)) {
    EventReader reader(local_file_system(), join_path(folder, name));
    while (const auto event = reader.next()) {
      for (const SummaryValue& value : event->values) {
        if (value.tag == tag) steps.push_back(event->step);
      }
    }
  }
  return steps;
}

TEST_F(ContractTest, summaries_of_evaluations_and_of_other_folders) {
  TPUEstimatorOptions all = options();
  const auto hook = [&](const std::string& folder, int64_t steps) {
    return std::make_shared<SummarySaverHook>(SummarySaverHook::Options{
        .save_steps = steps, .output_dir = folder_ / folder, .collection = "own"});
  };
  all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output& x) {
    summary::scalar("mean_x", reduce_mean(x), {.collections = {"own"}});
    summary::scalar("other", reduce_mean(x));
    spec.evaluation_hooks = {hook("seen", 1)};
  });
  TPUEstimator estimator(all);
  estimator.train(forever, {.max_steps = 8, .hooks = {hook("trained", 4)}});
  estimator.evaluate(once(64));
  EXPECT_THAT(steps_of(folder_ / "trained", "mean_x"), ElementsAre(2, 6));
  EXPECT_THAT(steps_of(folder_ / "trained", "other"), ElementsAre());
  EXPECT_THAT(steps_of(folder_ / "seen", "mean_x"), ElementsAre(8));
  EXPECT_THAT(error_of([] { SummarySaverHook{{.output_dir = "/tmp"}}; }),
              HasSubstr("exactly one of save_steps and save_secs must be provided."));
  EXPECT_THAT(error_of([] { SummarySaverHook{{.save_steps = 1}}; }),
              HasSubstr("SummarySaverHook: output_dir, got none, expected a folder"));
}

TEST_F(ContractTest, a_scaffold_begins_what_no_checkpoint_has) {
  TPUEstimatorOptions all = options();
  int begun = 0;
  all.model_fn = changed([&](TPUEstimatorSpec& spec, const Output&) {
    spec.scaffold_fn = [&begun] {
      return Scaffold{.init_fn = [&begun](Session& session) {
        ++begun;
        for (const Variable& variable : trainable_variables()) {
          session.set_variable(variable, Tensor::full(DType::f32, variable.type().shape, 0.25));
        }
      }};
    };
  });
  std::vector<double> kernels;
  TPUEstimator estimator(all);
  TrainOptions train{.max_steps = 2};
  train.saving_listeners.emplace_back([&](Session& session, int64_t step) {
    if (step > 0) return;
    for (const Variable& variable :
         session.graph().collection<Variable>(graph_keys::trainable_variables)) {
      kernels.push_back(session.variable_value(variable).as_double(0));
    }
  });
  estimator.train(forever, train);
  estimator.train(forever, {.max_steps = 4});
  EXPECT_EQ(begun, 1);
  EXPECT_THAT(kernels, ElementsAre(0.25, 0.25));
}

TEST_F(ContractTest, a_scaffold_may_add_to_the_step) {
  TPUEstimatorOptions all = options();
  all.model_fn = changed([](TPUEstimatorSpec& spec, const Output&) {
    spec.scaffold_fn = [] {
      const Variable steps(Tensor(int64_t{0}), {.name = "steps", .trainable = false});
      Graph::current().add_to_collection(graph_keys::update_ops,
                                         Operation(steps.assign_add(int64_t{1})));
      return Scaffold{};
    };
  });
  std::vector<int64_t> counted_steps;
  TPUEstimator estimator(all);
  for (const int64_t end : {4, 6}) {
    TrainOptions train{.max_steps = end};
    train.saving_listeners.emplace_back([&](Session& session, int64_t) {
      for (const Variable& variable :
           session.graph().collection<Variable>(graph_keys::global_variables)) {
        if (variable.name() != "steps") continue;
        counted_steps.push_back(session.variable_value(variable).item<int64_t>());
      }
    });
    estimator.train(forever, train);
  }
  EXPECT_THAT(counted_steps, ElementsAre(0, 4, 4, 6));
}

TEST_F(ContractTest, predictions_by_the_batch) {
  TPUEstimator estimator = trained(options());
  std::vector<std::vector<double>> batches;
  for (const auto& prediction :
       estimator.predict(features_of(11), {.yield_single_examples = false})) {
    batches.push_back(numbers_of(prediction["x"].leaf()));
  }
  EXPECT_THAT(batches, ElementsAre(numbers_of(counted(8)[0].leaf()), ElementsAre(9, 10, 11)));
}

// On one replica a batch is what the model makes of it; on several its rows are put together.
TEST_F(ContractTest, predictions_by_the_batch_may_have_any_shape) {
  TPUEstimatorOptions all = options();
  all.use_tpu = false;
  all.model_fn = changed([](TPUEstimatorSpec& spec, const Output& x) {
    if (spec.mode != Mode::predict) return;
    spec.predictions = Nest<Output>::dict(
        {{"x", x}, {"sum", reduce_sum(x)}, {"three", constant(Tensor::zeros(DType::f32, {3}))}});
  });
  TPUEstimator estimator = trained(all);
  std::vector<double> sums;
  for (const auto& prediction :
       estimator.predict(features_of(10), {.yield_single_examples = false})) {
    sums.push_back(prediction["sum"].leaf().as_double(0));
    EXPECT_EQ(prediction["three"].leaf().shape(), Shape({3}));
  }
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0], 36);
  EXPECT_THAT(error_of([&] { estimator.predict(features_of(10)).next(); }),
              HasSubstr("expected the batch"));
  all.use_tpu = true;
  TPUEstimator several(all);
  EXPECT_THAT(
      error_of([&] { several.predict(features_of(10), {.yield_single_examples = false}).next(); }),
      HasSubstr("expected the batch"));
}

// A range that is not finished keeps nothing from continuing.
TEST_F(ContractTest, predictions_can_be_left) {
  TPUEstimator estimator = trained(options());
  PredictionRange left = estimator.predict(features_of(1000));
  EXPECT_TRUE(left.next().has_value());
  estimator.train(forever, {.max_steps = 4});
  EXPECT_EQ(estimator.evaluate(once(3), {.name = "few"})["global_step"], 4);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "model/eval_few"));
  EXPECT_EQ((*left.next())["x"].leaf().as_double(0), 2);
}

TEST_F(ContractTest, loops_of_a_time_end_at_the_last_step) {
  TPUEstimatorOptions all = options();
  all.config.tpu_config.iterations_per_loop = "1s";
  TPUEstimator estimator(all);
  estimator.train(forever, {.max_steps = 37});
  EXPECT_THAT(estimator.latest_checkpoint(), EndsWith("model.ckpt-37"));
}

TEST_F(ContractTest, without_checkpoints_none_is_written) {
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 0;
  const LogCapture log;
  EXPECT_EQ(trained(all).latest_checkpoint(), "");
  EXPECT_THAT(log.messages(), Not(Contains(HasSubstr("Saving checkpoints"))));
}

}  // namespace
}  // namespace systole
