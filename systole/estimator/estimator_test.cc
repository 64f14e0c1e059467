// Training, evaluating and predicting from end to end, on this machine and on the virtual TPU.
#include "systole/estimator/estimator.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/local/local_file_system.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"
#include "systole/train/schedules/learning_rate_decay.h"
#include "systole/train/summary.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// y = x0 - 2 x1 + 0.5, of `n` examples.
Element line_data(int64_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor x(DType::f32, {n, 2});
  Tensor y(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    x.data<float>()[2 * at] = uniform(random);
    x.data<float>()[2 * at + 1] = uniform(random);
    y.data<float>()[at] = x.data<float>()[2 * at] - 2 * x.data<float>()[2 * at + 1] + 0.5F;
  }
  return Element::tuple({Element::dict({{"x", x}}), y});
}

InputFn line_input(int64_t n) {
  return [n](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(line_data(n)).repeat().batch(batch, true);
  };
}

TPUEstimatorSpec line_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                            const Params& params) {
  const Output y = layers::dense(features["x"], {.units = 1, .name = "line"});
  const Output prediction = squeeze(y, {.axis = 1});
  const auto predictions = Nest<Output>::dict({{"y", prediction}, {"x", features["x"]}});
  if (mode == ModeKeys::PREDICT) return {.mode = mode, .predictions = predictions};
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = prediction});
  const Operation train_op = CrossShardOptimizer(GradientDescentOptimizer(params.get("rate", 0.1)))
                                 .minimize(loss, {.global_step = get_global_step()});
  return {.mode = mode,
          .predictions = predictions,
          .loss = loss,
          .train_op = train_op,
          .eval_metrics = {
              [](const Output& l, const Output& p) -> MetricMap {
                return {{"error", metrics::mean_absolute_error({.labels = l, .predictions = p})},
                        {"mean", metrics::mean({.values = l})}};
              },
              {labels, prediction}}};
}

// Sees where loops end.
class Boundaries : public SessionRunHook {
 public:
  void after_run(RunContext& context, std::span<const Tensor>) override {
    steps.push_back(context.global_step());
  }
  std::vector<int64_t> steps;
};

class EstimatorTest : public ::testing::TestWithParam<bool> {
 protected:
  TPUEstimatorOptions options(const std::string& name = "model") {
    return {.model_fn = line_model,
            .model_dir = folder_ / name,
            .config = {.tf_random_seed = 3, .tpu_config = {.iterations_per_loop = 4}},
            .use_tpu = GetParam(),
            .train_batch_size = 16,
            .eval_batch_size = 8,
            .predict_batch_size = 8};
  }
  TPUEstimator trained(int64_t steps = 100) {
    TPUEstimator estimator(options());
    estimator.train(line_input(64), {.max_steps = steps});
    return estimator;
  }

  const TempFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Tpu, EstimatorTest, ::testing::Bool());

TEST_P(EstimatorTest, learns_and_predicts) {
  const TPUEstimator estimator = trained(200);
  EXPECT_THAT(estimator.latest_checkpoint(), HasSubstr("model.ckpt-200"));
  EXPECT_THAT(estimator.get_variable_names(),
              ElementsAre("global_step", "line/bias", "line/kernel"));
  const Tensor kernel = estimator.get_variable_value("line/kernel");
  EXPECT_NEAR(kernel.as_double(0), 1, 0.02);
  EXPECT_NEAR(kernel.as_double(1), -2, 0.02);
}

// All cores are used: nothing to say about idle ones.
TEST_P(EstimatorTest, has_no_plain_graph) {
  const LogCapture log;
  TPUEstimator estimator = trained(4);
  estimator.evaluate(line_input(8), {.steps = 1});
  EXPECT_THAT(log.messages(), Not(Contains(HasSubstr("a plain graph"))));
}

// Loss, speed and the wait for input, the rate of a schedule, and the graph; what the user writes.
TEST_P(EstimatorTest, summaries_are_written) {
  TPUEstimatorOptions all = options();
  all.config.save_summary_steps = 4;
  all.config.log_step_count_steps = 4;
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params&) -> TPUEstimatorSpec {
    const Output y = squeeze(layers::dense(features["x"], {.units = 1}), {.axis = 1});
    const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
    summary::scalar("half_loss", loss * 0.5);
    const Output rate = exponential_decay(0.1, get_global_step(), 4, 0.5);
    const Operation train_op = CrossShardOptimizer(GradientDescentOptimizer(rate))
                                   .minimize(loss, {.global_step = get_global_step()});
    return {.mode = mode, .loss = loss, .train_op = train_op};
  };
  TPUEstimator(all).train(line_input(64), {.max_steps = 12});
  int files = 0;
  for (const std::string& name : local_file_system().list(all.model_dir)) {
    if (!name.starts_with("events.out.tfevents.")) continue;
    EventFileSummary events = summarize_events(local_file_system(), join_path(all.model_dir, name));
    EXPECT_EQ(events.kinds["graph_def"], 1);
    for (const char* tag :
         {"loss", "half_loss", "learning_rate", "global_step/sec", "examples/sec", "input_wait"}) {
      EXPECT_TRUE(events.tags.contains(tag)) << tag;
    }
    EXPECT_NEAR(events.tags["learning_rate"].at(0).last.scalar, 0.1 * std::pow(0.5, 11. / 4), 1e-6);
    ++files;
  }
  EXPECT_EQ(files, 1);  // a second one would hide the first from TensorBoard
}

TEST_P(EstimatorTest, is_checked_before_anything_runs) {
  TPUEstimator estimator(options());
  const CheckReport report = estimator.check(line_input(64));
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_GT(report.memory.variables, 0);
  EXPECT_THAT(report.to_string(), HasSubstr("of 7.5 GiB"));
  EXPECT_EQ(estimator.latest_checkpoint(), "");
  if (!GetParam()) return;
  TPUEstimatorOptions odd = options();
  odd.train_batch_size = 12;
  const std::string report_of_odd = TPUEstimator(odd).check(line_input(64)).to_string();
  EXPECT_THAT(report_of_odd,
              HasSubstr("1. train batch size 12 must be divisible by number of replicas 8"));
  EXPECT_THAT(report_of_odd, HasSubstr("memory of a core"));  // with the next size that can be
}

// A library that stands for Google's compiler takes the step.
TEST_P(EstimatorTest, is_checked_by_googles_compiler) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto library = program.parent_path().parent_path() / "lib/libsystole_fake_libtpu.so";
  TPUEstimator estimator(options());
  const TPUCheckOptions wanted{.compile = "v3-8", .tpu_library = library.string()};
  const CheckReport report = estimator.check(line_input(64), wanted);
  ASSERT_TRUE(report.compiled.has_value());
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_THAT(report.to_string(), HasSubstr("Google's compiler (libtpu), for v3-8"));
  EXPECT_THAT(error_of([&] { estimator.check(line_input(64), {.compile = "v9-8"}); }),
              HasSubstr("expected a name such as v2-8"));
}

TEST_P(EstimatorTest, a_tpus_precision_rounds_products) {
  const auto loss_with = [&](Precision precision) {
    TPUEstimatorOptions all = options(precision == Precision::tpu ? "tpu" : "full");
    all.config.tpu_config.precision = precision;
    TPUEstimator estimator(all);
    estimator.train(line_input(64), {.steps = 4});
    return estimator.evaluate(line_input(64), {.steps = 2})["loss"];
  };
  const double full = loss_with(Precision::full);
  const double rounded = loss_with(Precision::tpu);
  EXPECT_NE(rounded, full);
  EXPECT_NEAR(rounded, full, 0.1 * full);
}

TEST_P(EstimatorTest, loops_end_where_they_should) {
  struct Case {
    int64_t iterations;
    int64_t before;
    TrainOptions options;
    std::vector<int64_t> ends;
  };
  const std::vector<Case> cases = {{4, 0, {.steps = 10}, {4, 8, 10}},
                                   {4, 3, {.steps = 10}, {7, 11, 13}},
                                   {4, 3, {.max_steps = 10}, {7, 10}},
                                   {40, 0, {.steps = 12}, {12}}};
  int number = 0;
  for (const Case& c : cases) {
    TPUEstimatorOptions all = options(fmt::format("model{}", number++));
    all.config.tpu_config.iterations_per_loop = c.iterations;
    TPUEstimator estimator(all);
    if (c.before > 0) estimator.train(line_input(64), {.steps = c.before});
    const auto hook = std::make_shared<Boundaries>();
    TrainOptions train = c.options;
    train.hooks = {hook};
    estimator.train(line_input(64), train);
    EXPECT_EQ(hook->steps, c.ends);
  }
}

// In the middle of a loop, on one replica.
TEST_P(EstimatorTest, the_first_loss_that_is_no_number_is_named) {
  const InputFn input_fn = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    Element data = line_data(64);
    Tensor y = data[1];
    y.data<float>()[2 * 16 + 5 * 2] = NAN;  // step 3, replica 5 of 8
    return Dataset::from_tensor_slices(data).repeat().batch(batch, true);
  };
  TPUEstimator estimator(options());
  EXPECT_THAT(
      error_of([&] { estimator.train(input_fn, {.max_steps = 8}); }),
      // The loss of replica 0 is a number if the launch ended with step 3.
      AllOf(AnyOf(HasSubstr("got nan at [] in"), HasSubstr("got a value that is not finite in")),
            HasSubstr(fmt::format(" step 3 on replica {}, seen after step ", GetParam() ? 5 : 0)),
            HasSubstr("; variable 'line/kernel' has nan at [0,0]"),
            HasSubstr(GetParam() ? "the input has nan at [0] of labels in step 3 on replica 5"
                                 : "the input has nan at [10] of labels in step 3 on replica 0")));
}

TEST_P(EstimatorTest, evaluates_any_number_of_examples_exactly) {
  TPUEstimator estimator = trained(8);
  const Tensor kernel = estimator.get_variable_value("line/kernel");
  const Tensor bias = estimator.get_variable_value("line/bias");
  for (const int64_t n : {1, 7, 8, 21, 64}) {
    const Element data = line_data(n, 5);
    const Tensor x = data[0]["x"];
    const Tensor y = data[1];
    double absolute = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double error = x.as_double(2 * i) * kernel.as_double(0) +
                           x.as_double(2 * i + 1) * kernel.as_double(1) + bias.as_double(0) -
                           y.as_double(i);
      absolute += std::abs(error);
      squares += error * error;
    }
    const Evaluation result = estimator.evaluate([&](const Params& params) {
      const int64_t batch = params["batch_size"];
      return Dataset::from_tensor_slices(data).batch(batch);
    });
    EXPECT_EQ(result.examples(), n);
    EXPECT_NEAR(result["error"], absolute / static_cast<double>(n), 1e-5) << n;
    EXPECT_NEAR(result["loss"], squares / static_cast<double>(n), 1e-5) << n;
    EXPECT_EQ(result["global_step"], 8);
  }
}

TEST_P(EstimatorTest, predicts_in_order_without_padding) {
  TPUEstimator estimator = trained(4);
  for (const int64_t n : {0, 1, 8, 19}) {
    const Element data = line_data(std::max<int64_t>(n, 1), 9);
    const Tensor x = data[0]["x"];
    int64_t i = 0;
    for (const Nest<Tensor>& prediction : estimator.predict([&](const Params& params) {
           const int64_t batch = params["batch_size"];
           return Dataset::from_tensor_slices(data[0]).take(n).batch(batch);
         })) {
      EXPECT_EQ(prediction["x"].leaf().shape(), Shape({2}));
      EXPECT_EQ(prediction["x"].leaf().as_double(0), x.as_double(2 * i));
      EXPECT_EQ(prediction["y"].leaf().rank(), 0);
      ++i;
    }
    EXPECT_EQ(i, n);
  }
  EXPECT_THAT(error_of([&] { estimator.predict(line_input(8), {.predict_keys = {"z"}}); }),
              HasSubstr("got 'z', expected one of {x, y}"));
}

TEST_P(EstimatorTest, a_resumed_run_is_the_run_that_did_not_stop) {
  const ModelFn model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                              const Params&) -> TPUEstimatorSpec {
    const Output h = layers::dense(features["x"], {.units = 8, .activation = tanh});
    const Output d = layers::dropout(h, {.rate = 0.5, .training = mode == ModeKeys::TRAIN});
    const Output loss = losses::mean_squared_error(
        {.labels = labels, .predictions = squeeze(layers::dense(d, {.units = 1}), {.axis = 1})});
    const Operation train_op =
        CrossShardOptimizer(AdamOptimizer(0.01)).minimize(loss, {.global_step = get_global_step()});
    return {.mode = mode, .loss = loss, .train_op = train_op};
  };
  const InputFn input_fn = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(line_data(50))
        .shuffle(20, {.seed = 5})
        .repeat()
        .batch(batch, true);
  };
  TPUEstimatorOptions whole = options("whole");
  whole.model_fn = model_fn;
  whole.config.session_config.entropy = 11;
  TPUEstimatorOptions parts = whole;
  parts.model_dir = folder_ / "parts";
  TPUEstimator in_one(whole);
  in_one.train(input_fn, {.max_steps = 20});
  for (const int64_t end : {4, 9, 20}) TPUEstimator(parts).train(input_fn, {.max_steps = end});
  const TPUEstimator in_parts(parts);
  for (const std::string& name : in_one.get_variable_names()) {
    EXPECT_TRUE(in_one.get_variable_value(name).identical(in_parts.get_variable_value(name)))
        << name;
  }
}

// What is kept from one evaluation to the next changes no result.
TEST_P(EstimatorTest, evaluates_and_predicts_again) {
  double scale = 1;
  TPUEstimatorOptions all = options();
  all.model_fn = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                     const Params& params) {
    TPUEstimatorSpec spec = line_model(features, labels, mode, params);
    if (mode == ModeKeys::EVAL) spec.loss = spec.loss * scale;
    return spec;
  };
  TPUEstimator estimator(all);
  const InputFn examples = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(line_data(21, 5)).batch(batch);
  };
  const auto evaluated = [&](TPUEstimator& with) { return with.evaluate(examples).to_string(); };
  const auto predicted = [&](TPUEstimator& with) {
    std::string values;
    const InputFn features = [](const Params& params) {
      const int64_t batch = params["batch_size"];
      return Dataset::from_tensor_slices(line_data(21, 5)[0]).batch(batch);
    };
    for (const auto& p : with.predict(features)) values += p["y"].leaf().to_string();
    return values;
  };
  for (const int64_t steps : {4, 8}) {
    estimator.train(line_input(64), {.max_steps = steps});
    for (const double factor : {1, 1, 2, 1}) {
      scale = factor;
      TPUEstimator fresh(all);
      EXPECT_EQ(evaluated(estimator), evaluated(fresh));
      EXPECT_EQ(predicted(estimator), predicted(fresh));
    }
  }
  // Two ranges at once have a model each.
  PredictionRange first = estimator.predict(line_input(8));
  PredictionRange second = estimator.predict(line_input(8));
  EXPECT_TRUE(
      first.next()->operator[]("y").leaf().identical(second.next()->operator[]("y").leaf()));
}

TEST_P(EstimatorTest, trains_and_evaluates_in_turn) {
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 8;
  TPUEstimator estimator(all);
  int evaluations = 0;
  const Evaluation last =
      train_and_evaluate(estimator, {.input_fn = line_input(64), .max_steps = 20},
                         {.input_fn =
                              [&](const Params& params) {
                                ++evaluations;
                                const int64_t batch = params["batch_size"];
                                return Dataset::from_tensor_slices(line_data(9)).batch(batch);
                              },
                          .throttle_secs = 0});
  EXPECT_EQ(last["global_step"], 20);
  EXPECT_EQ(evaluations, 3);
}

// Nobody has to think of their updates, and all replicas have a part in them.
TEST_P(EstimatorTest, moving_averages_move) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    const Output x = layers::batch_normalization(
        features["x"], {.momentum = 0.5, .training = mode == ModeKeys::TRAIN});
    return line_model(Nest<Output>::dict({{"x", x}}), labels, mode, params);
  };
  TPUEstimator estimator(all);
  estimator.train(line_input(16), {.max_steps = 1});
  const Tensor x = line_data(16)[0]["x"];
  double mean = 0;
  for (int64_t i = 0; i < 16; ++i) mean += x.as_double(2 * i) / 16;
  EXPECT_NEAR(estimator.get_variable_value("batch_normalization/moving_mean").as_double(0),
              0.5 * mean, 1e-6);
}

TEST_P(EstimatorTest, metrics_have_two_forms) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    TPUEstimatorSpec spec = line_model(features, labels, mode, params);
    spec.eval_metric_ops = {
        {"again",
         metrics::mean_absolute_error({.labels = labels, .predictions = spec.predictions["y"]})}};
    return spec;
  };
  TPUEstimator estimator(all);
  estimator.train(line_input(64), {.max_steps = 4});
  const Evaluation result = estimator.evaluate([](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(line_data(21, 5)).batch(batch);
  });
  EXPECT_GT(result["error"], 0);
  EXPECT_EQ(result["again"], result["error"]);
}

TEST_P(EstimatorTest, begins_where_another_model_ended) {
  const TPUEstimator first = trained(50);
  TPUEstimatorOptions all = options("second");
  all.warm_start_from = first.model_dir();
  all.params = {{"rate", 0.0}};
  TPUEstimator second(all);
  second.train(line_input(64), {.steps = 1});
  EXPECT_TRUE(
      second.get_variable_value("line/kernel").identical(first.get_variable_value("line/kernel")));
  EXPECT_EQ(second.get_variable_value("global_step").item<int64_t>(), 1);
}

TEST_P(EstimatorTest, host_calls_see_every_step) {
  TPUEstimatorOptions all = options();
  std::vector<double> losses;
  all.model_fn = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                     const Params& params) {
    TPUEstimatorSpec spec = line_model(features, labels, mode, params);
    spec.host_call = {.fn =
                          [&](std::span<const Tensor> values) {
                            EXPECT_EQ(values[0].dim(0), GetParam() ? 8 : 1);
                            losses.push_back(values[0].as_double(0));
                          },
                      .tensors = {reshape(spec.loss, {1})}};
    return spec;
  };
  TPUEstimator(all).train(line_input(64), {.steps = 6});
  EXPECT_THAT(losses, SizeIs(6));
}

TEST_P(EstimatorTest, refuses_steps_that_cannot_be) {
  TPUEstimator estimator(options());
  const auto train = [&](const TrainOptions& o) {
    return error_of([&] { estimator.train(line_input(64), o); });
  };
  EXPECT_THAT(train({.steps = 1, .max_steps = 1}),
              HasSubstr("Can not provide both steps and max_steps."));
  EXPECT_THAT(train({.steps = 0}), HasSubstr("Must specify steps > 0, given: 0"));
  EXPECT_THAT(train({.max_steps = -1}), HasSubstr("Must specify max_steps > 0, given: -1"));
  if (GetParam()) {
    EXPECT_THAT(train({}),
                HasSubstr("For TPU training, one of `steps` or `max_steps` must be set."));
  }
  EXPECT_THAT(error_of([&] { estimator.evaluate(line_input(8), {.steps = 1}); }),
              HasSubstr("Could not find trained model in model_dir"));
}

TEST(TPUEstimator, refuses_options_that_cannot_be) {
  const auto with = [](TPUEstimatorOptions options) {
    return error_of([&] { TPUEstimator{std::move(options)}; });
  };
  EXPECT_THAT(with({.train_batch_size = 8}), HasSubstr("model_fn must be provided to Estimator."));
  EXPECT_THAT(with({.model_fn = line_model}), HasSubstr("`train_batch_size` cannot be `None`"));
  EXPECT_THAT(with({.model_fn = line_model, .train_batch_size = 0}),
              HasSubstr("train_batch_size must be positive, got 0"));
  EXPECT_THAT(with({.model_fn = line_model, .params = {{"batch_size", 3}}, .train_batch_size = 8}),
              HasSubstr("are reserved keys but existed in params"));
  EXPECT_THAT(with({.model_fn = line_model,
                    .model_dir = "/tmp/a",
                    .config = {.model_dir = "/tmp/b"},
                    .train_batch_size = 8}),
              HasSubstr("`model_dir` are set both in constructor and `RunConfig`"));
}

TEST(TPUEstimator, names_what_a_tpu_would_refuse) {
  const auto train = [](TPUEstimatorOptions options, const InputFn& input_fn) {
    return error_of([&] { TPUEstimator(std::move(options)).train(input_fn, {.steps = 1}); });
  };
  const InputFn unknown_batch = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(line_data(64)).batch(batch);
  };
  EXPECT_THAT(
      train({.model_fn = line_model, .train_batch_size = 12}, line_input(64)),
      HasSubstr("train batch size 12 must be divisible by number of replicas 8: use 8 or 16"));
  EXPECT_THAT(train({.model_fn = line_model, .train_batch_size = 16}, unknown_batch),
              HasSubstr("must have static shape. Tensor: features['x'] of f32[?,2]; "
                        "batch(batch_size, "
                        "drop_remainder = true) or set_shape()"));
  EXPECT_THAT(train({.model_fn = line_model,
                     .config = {.tpu_config = {.num_shards = 4}},
                     .train_batch_size = 16},
                    line_input(64)),
              HasSubstr("num_replicas should be (8), got (4)"));
  const ModelFn plain_optimizer = [](const Nest<Output>& features, const Nest<Output>& labels,
                                     Mode mode, const Params&) -> TPUEstimatorSpec {
    const Output y = layers::dense(features["x"], {.units = 1});
    const Output loss =
        losses::mean_squared_error({.labels = labels, .predictions = squeeze(y, {.axis = 1})});
    return {.mode = mode,
            .loss = loss,
            .train_op =
                GradientDescentOptimizer(0.1).minimize(loss, {.global_step = get_global_step()})};
  };
  EXPECT_THAT(train({.model_fn = plain_optimizer, .train_batch_size = 16}, line_input(64)),
              HasSubstr("CrossShardOptimizer must be used for model training on TPUs."));
  EXPECT_EQ(train({.model_fn = plain_optimizer, .use_tpu = false, .train_batch_size = 16},
                  line_input(64)),
            "no error");
}

TEST(Estimator, trains_to_the_end_of_input) {
  Estimator estimator({.model_fn = line_model, .params = {{"batch_size", 8}}});
  const auto hook = std::make_shared<Boundaries>();
  estimator.train(
      [](const Params& params) {
        const int64_t batch = params["batch_size"];
        return Dataset::from_tensor_slices(line_data(30)).repeat(2).batch(batch);
      },
      {.hooks = {hook}});
  EXPECT_EQ(hook->steps.back(), 8);  // the last of 4 examples
}

}  // namespace
}  // namespace systole
