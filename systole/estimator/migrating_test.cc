// Rows of docs/migrating.md that no other test is about: what happens here where TensorFlow's
// estimators set traps.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/estimator/testing/line_examples.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = 3 x, of n examples.
Element triples(int64_t n) {
  return systole::testing::line_examples(
      n, 3, [](int64_t i) { return static_cast<float>(i % 7) / 4 - 0.5F; });
}

InputFn triples_input(int64_t n) {
  return [n](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(triples(n)).repeat().batch(batch, true);
  };
}

// How a model takes its step.
using TrainFn = std::function<Operation(const Output& loss)>;

Operation minimized(const Output& loss) {
  return CrossShardOptimizer(GradientDescentOptimizer(0.1))
      .minimize(loss, {.global_step = get_global_step()});
}

ModelFn triples_model(const TrainFn& train_fn = minimized) {
  return [train_fn](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params&) -> TPUEstimatorSpec {
    const Output y = layers::dense(features, {.units = 1, .name = "line"});
    if (mode == ModeKeys::PREDICT) return {.mode = mode, .predictions = y};
    const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
    TPUEstimatorSpec spec{.mode = mode, .loss = loss};
    if (mode == ModeKeys::TRAIN) spec.train_op = train_fn(loss);
    return spec;
  };
}

class MigratingTest : public ::testing::Test {
 protected:
  TPUEstimatorOptions options(const std::string& name = "model") {
    return {.model_fn = triples_model(),
            .model_dir = folder_ / name,
            .config = {.tf_random_seed = 3, .tpu_config = {.iterations_per_loop = 2}},
            .train_batch_size = 16,
            .eval_batch_size = 8,
            .predict_batch_size = 8};
  }

  const TempFolder folder_;
};

TEST_F(MigratingTest, nothing_is_evaluated_without_a_checkpoint) {
  TPUEstimator estimator(options());
  const std::string told = "NOT_FOUND: Could not find trained model in model_dir";
  EXPECT_THAT(error_of([&] { estimator.evaluate(triples_input(8), {.steps = 1}); }),
              HasSubstr(told));
  EXPECT_THAT(error_of([&] { estimator.predict(triples_input(8)); }), HasSubstr(told));
}

TEST_F(MigratingTest, gradients_that_are_clipped_by_hand_are_averaged) {
  const auto kernel_of = [&](const std::string& name, const TrainFn& train_fn, bool use_tpu) {
    TPUEstimatorOptions all = options(name);
    all.model_fn = triples_model(train_fn);
    all.use_tpu = use_tpu;
    all.config.tpu_config.check = Check::off;
    TPUEstimator estimator(all);
    estimator.train(triples_input(64), {.max_steps = 3});
    return estimator.get_variable_value("line/kernel").as_double(0);
  };
  const TrainFn by_hand = [](const Output& loss) {
    CrossShardOptimizer optimizer(GradientDescentOptimizer(0.1));
    std::vector<GradientAndVariable> gradients = optimizer.compute_gradients(loss);
    for (auto& [gradient, variable] : gradients) gradient = gradient * 0.5;
    return optimizer.apply_gradients(gradients, {.global_step = get_global_step()});
  };
  const double whole = kernel_of("minimized", minimized, true);
  const double on_cores = kernel_of("by_hand_tpu", by_hand, true);
  EXPECT_NEAR(on_cores, kernel_of("by_hand_cpu", by_hand, false), 1e-5);
  EXPECT_GT(std::abs(on_cores - whole), 1e-3);  // half of the gradient is less of a step
}

TEST_F(MigratingTest, an_optimizer_for_one_core_is_a_warning_elsewhere) {
  TPUEstimatorOptions all = options();
  all.use_tpu = false;
  all.model_fn = triples_model([](const Output& loss) {
    return GradientDescentOptimizer(0.1).minimize(loss, {.global_step = get_global_step()});
  });
  const LogCapture log;
  TPUEstimator(all).train(triples_input(64), {.max_steps = 2});
  EXPECT_THAT(log.messages(), Contains(HasSubstr("CrossShardOptimizer must be used")));
}

// What the model computes itself sees the rows that fill up a batch: copies of the last one.
TEST_F(MigratingTest, a_mean_of_the_models_own_sees_rows_that_fill_up) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params& params) {
    TPUEstimatorSpec spec = triples_model()(features, labels, mode, params);
    if (mode == ModeKeys::EVAL) {
      spec.eval_metrics = {[](const Output& x) -> MetricMap {
                             return {{"own", metrics::mean({.values = reduce_mean(x)})},
                                     {"exact", metrics::mean({.values = x})}};
                           },
                           {features.leaf()}};
    }
    return spec;
  };
  TPUEstimator estimator(all);
  estimator.train(triples_input(64), {.max_steps = 2});
  const Tensor x = Tensor::of<float>({5, 1}, {1, 2, 3, 4, 10});
  const Evaluation result = estimator.evaluate([&](const Params& params) {
    const int64_t batch = params["batch_size"];
    return Dataset::from_tensor_slices(Element::tuple({x, x})).batch(batch);
  });
  EXPECT_EQ(result.examples(), 5);
  EXPECT_NEAR(result["exact"], 4, 1e-6);
  EXPECT_GT(result["own"], 4.5);
}

TEST_F(MigratingTest, input_that_keeps_the_device_waiting_is_told) {
  const InputFn slow = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    const TensorType numbers{DType::f32, {batch, 1}};
    const auto generator = [batch]() -> std::optional<Element> {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      return triples(batch);
    };
    return Dataset::from_generator([generator] { return generator; },
                                   ElementSpec::tuple({numbers, numbers}));
  };
  const LogCapture log;
  TPUEstimator(options()).train(slow, {.max_steps = 24});
  EXPECT_THAT(log.messages(), Contains(HasSubstr("input: training waits")));
}

TEST_F(MigratingTest, a_model_that_does_not_fit_is_refused_before_it_runs) {
  TPUEstimatorOptions all = options();
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params&) -> TPUEstimatorSpec {
    const Output hidden = layers::dense(features, {.units = int64_t{1} << 29, .name = "wide"});
    const Output loss = losses::mean_squared_error(
        {.labels = labels, .predictions = layers::dense(hidden, {.units = 1})});
    return {.mode = mode, .loss = loss, .train_op = minimized(loss)};
  };
  EXPECT_THAT(error_of([&] { TPUEstimator(all).train(triples_input(64), {.max_steps = 2}); }),
              AllOf(HasSubstr("a step does not fit into a core"), HasSubstr("wide")));
}

TEST_F(MigratingTest, check_tells_of_all_inputs_and_of_the_model_at_once) {
  TPUEstimatorOptions all = options();
  all.train_batch_size = 12;
  all.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                    const Params&) -> TPUEstimatorSpec {
    const Output wide = cast(features["a"] + features["b"], DType::f64);
    const Output loss = losses::mean_squared_error(
        {.labels = labels, .predictions = cast(reduce_sum(wide, {.axis = 1}), DType::f32)});
    return {.mode = mode, .loss = loss, .train_op = no_op()};
  };
  const InputFn open = [](const Params& params) {
    const int64_t batch = params["batch_size"];
    const Tensor rows = Tensor::zeros(DType::f32, {64, 3});
    return Dataset::from_tensor_slices(Element::tuple({Element::dict({{"a", rows}, {"b", rows}}),
                                                       Tensor::zeros(DType::f32, {64})}))
        .batch(batch);
  };
  const std::string report = TPUEstimator(all).check(open).to_string();
  EXPECT_THAT(report,
              AllOf(HasSubstr("1. train batch size 12 must be divisible by number of replicas 8: "
                              "use 8 or 16; change the batch size of the estimator"),
                    HasSubstr("'features:0' has the unknown shape f32[?,3]"),
                    HasSubstr("'features_1:0' has the unknown shape f32[?,3]"),
                    HasSubstr("dtype float64"), HasSubstr("CrossShardOptimizer must be used")));
  // Nor twice what is wrong whatever the shapes.
  all.train_batch_size = 16;
  const CheckReport structure = TPUEstimator(all).check([](const Params&) {
    return Dataset::from_tensors(
        Element::tuple({Tensor::zeros(DType::f32, {16, 1}), Tensor::zeros(DType::f32, {8})}));
  });
  ASSERT_EQ(structure.violations.size(), 1U);
  EXPECT_THAT(structure.violations[0].what, HasSubstr("expected one batch size"));
}

// Hooks of an evaluation see what they ask for, as those of training do.
TEST_F(MigratingTest, hooks_of_evaluations_see_their_values) {
  TPUEstimatorOptions all = options();
  std::vector<std::string> lines;
  all.model_fn = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                     const Params& params) {
    TPUEstimatorSpec spec = triples_model()(features, labels, mode, params);
    const Output seen = reduce_mean(features);
    const auto hook = std::make_shared<LoggingTensorHook>(LoggingTensorHook::Options{
        .tensors = {{"x", seen}}, .every_n_iter = 1, .write = [&](const std::string& line) {
          lines.push_back(line);
        }});
    if (mode == ModeKeys::EVAL) spec.evaluation_hooks = {hook};
    if (mode == ModeKeys::PREDICT) spec.prediction_hooks = {hook};
    return spec;
  };
  TPUEstimator estimator(all);
  estimator.train(triples_input(64), {.max_steps = 2});
  const Tensor x = Tensor::full(DType::f32, {8, 1}, 0.25);
  const auto once = [&](const Element& data) {
    return [data](const Params& params) {
      const int64_t batch = params["batch_size"];
      return Dataset::from_tensor_slices(data).batch(batch);
    };
  };
  estimator.evaluate(once(Element::tuple({x, x})));
  EXPECT_THAT(lines, ElementsAre("x = 0.25, step = 2"));
  lines.clear();
  int64_t predicted = 0;
  for (const auto& prediction : estimator.predict(once(x))) {
    EXPECT_EQ(prediction.leaf().shape(), Shape({1}));
    ++predicted;
  }
  EXPECT_EQ(predicted, 8);
  EXPECT_THAT(lines, ElementsAre("x = 0.25, step = 0"));
}

TEST_F(MigratingTest, input_that_hangs_is_an_error) {
  TPUEstimator(options()).train(triples_input(64), {.max_steps = 2});
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const auto hangs = [&](const ElementSpec& spec) {
    return [released, spec](const Params& params) {
      const int64_t batch = params["batch_size"];
      auto wait = [released]() -> std::optional<Element> {
        while (!*released) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return std::nullopt;
      };
      return Dataset::from_generator([wait] { return wait; }, spec).batch(batch, true);
    };
  };
  const TensorType number{DType::f32, {1}};
  const auto examples = hangs(ElementSpec::tuple({number, number}));
  TPUEstimatorOptions all = options();
  all.config.tpu_config.hang_timeout_secs = 0.2;
  TPUEstimator estimator(all);
  const std::string first = "DEADLINE_EXCEEDED: input: batches for steps 1 to 1, got none in 0.2";
  EXPECT_THAT(error_of([&] { estimator.train(examples, {.max_steps = 4}); }),
              HasSubstr("DEADLINE_EXCEEDED: input: batches for steps 3 to 3, got none in 0.2"));
  EXPECT_THAT(error_of([&] { estimator.evaluate(examples); }), HasSubstr(first));
  PredictionRange predictions = estimator.predict(hangs(number));
  EXPECT_THAT(error_of([&] { predictions.next(); }), HasSubstr(first));
  EXPECT_EQ(predictions.next(), std::nullopt) << "an error ends a generator";
  *released = true;
}

TEST_F(MigratingTest, an_input_fn_that_hangs_is_an_error) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const InputFn hangs = [released](const Params&) -> InputFnResult {
    while (!*released) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    throw invalid_argument("input_fn: too late");
  };
  TPUEstimatorOptions all = options();
  all.config.tpu_config.hang_timeout_secs = 0.2;
  TPUEstimator estimator(all);
  const auto message =
      ::testing::AllOf(HasSubstr("DEADLINE_EXCEEDED: input_fn: call, got no result in 0.2"),
                       HasSubstr("(TPUConfig.hang_timeout_secs = 0.2)"));
  EXPECT_THAT(error_of([&] { estimator.train(hangs, {.max_steps = 4}); }), message);
  *released = true;
}

// A checkpoint waits for what the input reads ahead.
TEST_F(MigratingTest, input_that_hangs_during_a_checkpoint_is_an_error) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const InputFn some = [released](const Params& params) {
    const int64_t batch = params["batch_size"];
    auto examples = [released, left = 3 * batch]() mutable -> std::optional<Element> {
      if (left-- > 0) {
        const Tensor x = Tensor::of<float>({1}, {1});
        return Element::tuple({x, x});
      }
      while (!*released) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return std::nullopt;
    };
    const TensorType number{DType::f32, {1}};
    return Dataset::from_generator([examples] { return examples; },
                                   ElementSpec::tuple({number, number}))
        .batch(batch, true);
  };
  TPUEstimatorOptions all = options();
  all.config.save_checkpoints_steps = 1;
  all.config.tpu_config = {.iterations_per_loop = 1, .hang_timeout_secs = 2};
  TPUEstimator estimator(all);
  EXPECT_THAT(error_of([&] { estimator.train(some, {.max_steps = 9}); }),
              HasSubstr("DEADLINE_EXCEEDED: input: position after step 3, got none in 2"));
  *released = true;
}

}  // namespace
}  // namespace systole
