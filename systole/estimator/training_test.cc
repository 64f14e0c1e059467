// What decides when training ends, which steps hooks see, and how it starts.
#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/estimator/testing/line_examples.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/targets/target.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/loop/signals.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Element line_of(int64_t n) {
  return systole::testing::line_examples(
      n, 3, [n](int64_t i) { return static_cast<float>(i) / static_cast<float>(n); });
}

InputFn endless(int64_t n = 64) {
  return [n](const Params& params) {
    const int64_t batch = params.get("batch_size", int64_t{16});
    return Dataset::from_tensor_slices(line_of(n)).repeat().batch(batch, true);
  };
}

InputFn one_epoch(int64_t n) {
  return [n](const Params& params) {
    const int64_t batch = params.get("batch_size", int64_t{16});
    return Dataset::from_tensor_slices(line_of(n)).batch(batch, true);
  };
}

using MakeTrainOp = std::function<Operation(const Output& loss)>;

ModelFn line_with(const MakeTrainOp& make_train_op) {
  return [make_train_op](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                         const Params&) -> TPUEstimatorSpec {
    const Output y = layers::dense(features, {.units = 1, .name = "dense"});
    if (mode == Mode::predict) return {.mode = mode, .predictions = y};
    const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
    return {.mode = mode, .loss = loss, .train_op = make_train_op(loss)};
  };
}

Operation descend(const Output& loss) {
  return GradientDescentOptimizer(0.1).minimize(loss, {.global_step = get_global_step()});
}

// Moves the weights, and counts, in every second run, as accumulated gradients do.
Operation descend_every_second_run(const Output& loss) {
  const Variable runs(Tensor(int64_t{0}), {.name = "runs", .trainable = false});
  const Output due = equal(floormod(runs.assign_add(int64_t{1}), int64_t{2}), int64_t{0});
  const Operation moved =
      GradientDescentOptimizer(where(due, constant(0.1F), constant(0.0F))).minimize(loss);
  return group({moved, Operation(get_global_step().assign_add(cast(due, DType::s64)))});
}

Operation descend_twice(const Output& loss) { return group({descend(loss), descend(loss * 0.5F)}); }

class Watching : public SessionRunHook {
 public:
  void before_run(RunContext&) override { ++before; }
  void after_run(RunContext& context, std::span<const Tensor>) override {
    ends.push_back(context.global_step());
    examples.push_back(context.examples());
  }
  int before = 0;
  std::vector<int64_t> ends;
  std::vector<int64_t> examples;
};

class TrainingTest : public ::testing::Test {
 protected:
  TPUEstimatorOptions on_cpu(const ModelFn& model_fn, const std::string& name = "model") {
    return {.model_fn = model_fn,
            .model_dir = folder_ / name,
            .config = {.tf_random_seed = 3, .tpu_config = {.check = Check::off}},
            .use_tpu = false,
            .train_batch_size = 16,
            .eval_batch_size = 16,
            .predict_batch_size = 16};
  }
  std::vector<std::string> checkpoints(const std::string& name = "model") {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / name)) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(".index")) found.push_back(file.substr(0, file.size() - 6));
    }
    std::ranges::sort(found);
    return found;
  }

  const TempFolder folder_;
};

TEST_F(TrainingTest, the_global_step_variable_decides) {
  struct Case {
    std::string name;
    MakeTrainOp train_op;
    std::optional<IterationsPerLoop> iterations;
  };
  const std::vector<Case> cases = {{"accumulated", descend_every_second_run, std::nullopt},
                                   {"accumulated_in_loops", descend_every_second_run, 3},
                                   {"two_optimizers", descend_twice, std::nullopt},
                                   {"two_optimizers_in_loops", descend_twice, 100}};
  for (const Case& c : cases) {
    TPUEstimatorOptions all = on_cpu(line_with(c.train_op), c.name);
    all.config.tpu_config.iterations_per_loop = c.iterations;
    const auto hook = std::make_shared<Watching>();
    TPUEstimator estimator(all);
    estimator.train(endless(), {.max_steps = 8, .hooks = {hook}});
    EXPECT_THAT(estimator.latest_checkpoint(), EndsWith("model.ckpt-8")) << c.name;
    EXPECT_EQ(estimator.get_variable_value("global_step").item<int64_t>(), 8) << c.name;
    EXPECT_EQ(hook->ends.back(), 8) << c.name;
    if (c.name.starts_with("accumulated")) {
      EXPECT_EQ(estimator.get_variable_value("runs").item<int64_t>(), 16) << c.name;
    }
    // It is complete.
    const LogCapture log;
    estimator.train(endless(), {.max_steps = 8});
    EXPECT_THAT(log.messages(), Contains(HasSubstr("Skipping training"))) << c.name;
  }
}

TEST_F(TrainingTest, a_step_that_does_not_count_is_refused) {
  const ModelFn model =
      line_with([](const Output& loss) { return GradientDescentOptimizer(0.1).minimize(loss); });
  EXPECT_THAT(error_of([&] { TPUEstimator(on_cpu(model)).train(endless(), {.max_steps = 8}); }),
              HasSubstr("train_op: variable 'global_step', got no assignment to it"));
}

TEST_F(TrainingTest, an_estimator_without_a_tpu_runs_hooks_after_every_step) {
  TPUEstimatorOptions all = on_cpu(line_with(descend));
  all.config.save_checkpoints_steps = 5;
  const auto hook = std::make_shared<Watching>();
  TPUEstimator(all).train(endless(), {.max_steps = 10, .hooks = {hook}});
  EXPECT_THAT(hook->ends, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-5"));
}

TEST_F(TrainingTest, a_plain_estimator_stops_at_its_step) {
  Estimator estimator({.model_fn = line_with(descend), .model_dir = folder_ / "model"});
  estimator.train(
      endless(),
      {.hooks = {std::make_shared<StopAtStepHook>(StopAtStepHook::Options{.last_step = 5})}});
  EXPECT_THAT(estimator.latest_checkpoint(), EndsWith("model.ckpt-5"));
}

// Several steps run in one launch where no hook needs to see them: the schedules hold all the same.
TEST_F(TrainingTest, loops_are_as_long_as_hooks_allow) {
  TPUEstimatorOptions all = on_cpu(line_with(descend));
  all.config.save_checkpoints_steps = 70;
  all.config.log_step_count_steps = 30;
  const LogCapture log;
  TPUEstimator(all).train(endless(), {.max_steps = 150});
  EXPECT_THAT(checkpoints(),
              ElementsAre("model.ckpt-0", "model.ckpt-140", "model.ckpt-150", "model.ckpt-70"));
  for (const int step : {1, 31, 61, 91, 121}) {
    EXPECT_THAT(log.messages(), Contains(HasSubstr(fmt::format(", step = {}", step))));
  }
}

TEST_F(TrainingTest, hooks_of_an_evaluation_see_every_batch) {
  TPUEstimator estimator(on_cpu(line_with(descend)));
  estimator.train(endless(), {.max_steps = 1});
  const auto hook = std::make_shared<Watching>();
  estimator.evaluate(one_epoch(48), {.hooks = {hook}});
  EXPECT_THAT(hook->examples, ElementsAre(16, 16, 16));
}

TEST_F(TrainingTest, scaffold_functions_are_called_in_every_mode) {
  std::vector<Mode> asked;
  const ModelFn line = line_with(descend);
  const ModelFn model = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                            const Params& params) {
    TPUEstimatorSpec spec = line(features, labels, mode, params);
    spec.scaffold_fn = [&asked, mode] {
      EXPECT_NO_THROW(get_global_step());  // the model's graph is current
      asked.push_back(mode);
      return Scaffold{};
    };
    return spec;
  };
  TPUEstimator estimator(on_cpu(model));
  estimator.train(endless(), {.max_steps = 1});
  estimator.evaluate(one_epoch(16));
  for (const auto& prediction : estimator.predict(
           [](const Params&) { return Dataset::from_tensor_slices(line_of(16)[0]).batch(16); })) {
    static_cast<void>(prediction);
  }
  estimator.export_saved_model(folder_ / "export", estimator::build_raw_serving_input_receiver_fn(
                                                       TensorType{DType::f32, {kUnknown, 1}}));
  EXPECT_THAT(asked, ElementsAre(Mode::train, Mode::eval, Mode::predict, Mode::predict));
}

// As Python's re.match.
TEST_F(TrainingTest, warm_starts_match_from_the_start) {
  TPUEstimator first(on_cpu(line_with(descend), "first"));
  first.train(endless(), {.max_steps = 1});
  TPUEstimatorOptions all = on_cpu(line_with(descend), "second");
  all.warm_start_from = first.model_dir();
  for (const char* pattern : {"(?!dense).*", "kernel"}) {
    all.warm_start_from.vars_to_warm_start = pattern;
    EXPECT_THAT(
        error_of([&] { TPUEstimator(all).train(endless(), {.max_steps = 1}); }),
        HasSubstr(fmt::format("vars_to_warm_start, got '{}', expected a pattern", pattern)));
  }
  all.warm_start_from.vars_to_warm_start = "dense/(";
  EXPECT_THAT(error_of([&] { TPUEstimator(all).train(endless(), {.max_steps = 1}); }),
              HasSubstr("got 'dense/(', expected a regular expression"));
}

TEST_F(TrainingTest, warm_starts_from_a_saved_model_and_before_evaluation) {
  TPUEstimator first(on_cpu(line_with(descend), "first"));
  first.train(endless(), {.max_steps = 3});
  const auto receiver =
      estimator::build_raw_serving_input_receiver_fn(TensorType{DType::f32, {kUnknown, 1}});
  TPUEstimatorOptions all = on_cpu(line_with(descend), "second");
  all.warm_start_from = first.export_saved_model(folder_ / "export", receiver);
  TPUEstimator second(all);
  const Evaluation evaluation = second.evaluate(one_epoch(16));
  EXPECT_EQ(evaluation["loss"], first.evaluate(one_epoch(16))["loss"]);
  EXPECT_EQ(evaluation["global_step"], 0);
  EXPECT_NO_THROW(second.export_saved_model(folder_ / "export2", receiver));
  PredictionRange predictions = second.predict(
      [](const Params&) { return Dataset::from_tensor_slices(line_of(16)[0]).batch(16); });
  EXPECT_TRUE(predictions.next().has_value());
}

TEST_F(TrainingTest, a_hook_sees_the_step_whose_loss_is_not_finite) {
  const auto hook = std::make_shared<Watching>();
  const InputFn broken = [](const Params&) {
    Element data = line_of(64);
    Tensor x = data[0].leaf();
    x.data<float>()[40] = NAN;
    return Dataset::from_tensor_slices(data).repeat().batch(16, true);
  };
  EXPECT_THAT(
      error_of([&] {
        TPUEstimator(on_cpu(line_with(descend))).train(broken, {.max_steps = 8, .hooks = {hook}});
      }),
      AllOf(HasSubstr("got nan at [] in step 3 on replica 0, seen after step 3"),
            HasSubstr("the input has nan at [8,0] of features in step 3 on replica 0")));
  EXPECT_THAT(hook->ends, ElementsAre(1, 2, 3));
}

TPUEstimatorSpec three_classes(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                               const Params&) {
  const Output logits = layers::dense(features["x"], {.units = 3});
  const Output loss = losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  return {.mode = mode, .loss = loss, .train_op = descend(loss)};
}

// 64 examples, of which the one at `at` has this label; the others have 0.
Dataset with_label(int32_t label, size_t at) {
  Tensor classes = Tensor::zeros(DType::s32, {64});
  classes.data<int32_t>()[at] = label;
  return Dataset::from_tensor_slices(
      Element::tuple({Element::dict({{"x", line_of(64)[0].leaf()}}), classes}));
}

TEST_F(TrainingTest, a_label_that_is_no_class_is_named_at_the_first_step) {
  const InputFn input = [](const Params&) { return with_label(3, 5).repeat().batch(16, true); };
  TPUEstimatorOptions all = on_cpu(three_classes);
  all.config.tpu_config.iterations_per_loop = 1000;
  EXPECT_THAT(error_of([&] { TPUEstimator(all).train(input, {.max_steps = 1000}); }),
              AllOf(HasSubstr("in step 1 on replica 0"),
                    HasSubstr("labels has the label 3 at element 5 in step 1 on replica 0, "
                              "expected 0 to 2")));
}

TEST_F(TrainingTest, a_label_that_is_no_class_ends_an_evaluation) {
  TPUEstimator estimator(on_cpu(three_classes));
  const auto input = [](int32_t label) -> InputFn {
    return [label](const Params&) { return with_label(label, 37).batch(16); };
  };
  estimator.train(input(2), {.max_steps = 1});
  EXPECT_NO_THROW(estimator.evaluate(input(2)));
  for (const int32_t label : {-1, 3}) {
    EXPECT_THAT(error_of([&] { estimator.evaluate(input(label)); }),
                AllOf(HasSubstr("evaluate: loss, got one that is not finite in batches "),
                      HasSubstr(fmt::format("labels has the label {} at element 5 in step 3 on "
                                            "replica 0, expected 0 to 2",
                                            label))));
  }
}

TEST_F(TrainingTest, an_infinite_loss_of_the_model_is_told_once) {
  const ModelFn model = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                           const Params&) -> TPUEstimatorSpec {
    const Output y = layers::dense(features, {.units = 1});
    Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
    if (mode == Mode::eval) loss = add(loss, log(constant(0.0F)));
    return {.mode = mode, .loss = loss, .train_op = descend(loss)};
  };
  TPUEstimator estimator(on_cpu(model));
  estimator.train(endless(), {.max_steps = 1});
  const LogCapture log;
  EXPECT_TRUE(std::isinf(estimator.evaluate(one_epoch(64))["loss"]));
  EXPECT_EQ(std::ranges::count_if(log.messages(),
                                  [](const std::string& line) {
                                    return line.find("it is the model that computes it") !=
                                           std::string::npos;
                                  }),
            1);
}

// "local" is the virtual TPU; a target whose scheme only begins so is another.
TEST_F(TrainingTest, without_a_tpu_the_master_is_used_unless_it_is_the_virtual_tpu) {
  static std::vector<std::string> resolved;
  resolved.clear();
  if (!has_target_scheme("localnet")) {
    register_target_scheme({.scheme = "localnet",
                            .forms = "'localnet:NAME'",
                            .resolve = [](std::string_view target, std::string_view backend) {
                              resolved.emplace_back(target);
                              return resolve_target("", backend);
                            }});
  }
  for (const char* master : {"local", "local:4", "localnet:a"}) {
    TPUEstimatorOptions all = on_cpu(line_with(descend));
    all.config.master = master;
    TPUEstimator(all).train(endless(), {.steps = 1});
  }
  EXPECT_THAT(resolved, ::testing::Not(::testing::IsEmpty()));
  EXPECT_THAT(resolved, ::testing::Each("localnet:a"));
}

TEST_F(TrainingTest, errors_name_the_users_line) {
  const ModelFn line = line_with(descend);
  const auto error_with = [&](const std::function<void(TPUEstimatorSpec&)>& change) {
    const ModelFn model = [&](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                              const Params& params) {
      TPUEstimatorSpec spec = line(features, labels, mode, params);
      change(spec);
      return spec;
    };
    return error_of([&] { TPUEstimator(on_cpu(model)).train(endless(), {.max_steps = 2}); });
  };
  EXPECT_THAT(error_with([](TPUEstimatorSpec& spec) {
                spec.host_call = {.fn = [](std::span<const Tensor>) {
                  throw invalid_argument("nothing to draw");
                }};
              }),
              AllOf(HasSubstr("host_call: step 1: nothing to draw, at training_test.cc:"),
                    HasSubstr("INVALID_ARGUMENT")));
  EXPECT_THAT(
      error_with([](TPUEstimatorSpec& spec) { spec.loss = cast(spec.loss, DType::s32); }),
      AllOf(HasSubstr("Loss must be floating, given: s32[]"), HasSubstr("at training_test.cc:")));
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_THAT(error_of([&] { GradientDescentOptimizer(0.1).minimize(constant(1)); }),
              AllOf(HasSubstr("expected a floating dtype"), HasSubstr("at training_test.cc:")));
}

// Each is a batch()-less or wrong batch of a plain Estimator.
TEST_F(TrainingTest, a_model_that_fails_on_single_examples_is_told_why) {
  const InputFn single = [](const Params&) {
    return Dataset::from_tensor_slices(
        Element::tuple({line_of(64)[0], Tensor::zeros(DType::f32, {64})}));
  };
  EXPECT_THAT(
      error_of([&] { TPUEstimator(on_cpu(line_with(descend))).train(single, {.max_steps = 1}); }),
      HasSubstr("input_fn gives single examples: is batch() missing?"));
}

class Listening : public CheckpointSaverListener {
 public:
  explicit Listening(std::vector<std::string>& calls) : calls_(calls) {}
  void begin() override { calls_.emplace_back("begin"); }
  void before_save(Session&, int64_t step) override { note("before", step); }
  bool after_save(Session& session, int64_t step) override {
    EXPECT_EQ(session.graph().collection<Variable>(graph_keys::global_step).size(), 1U);
    note("after", step);
    return step == 4;
  }
  void end(Session&, int64_t step) override { note("end", step); }

 private:
  void note(const char* what, int64_t step) { calls_.push_back(fmt::format("{} {}", what, step)); }
  std::vector<std::string>& calls_;
};

TEST_F(TrainingTest, listeners_see_each_save_and_may_stop_training) {
  TPUEstimatorOptions all = on_cpu(line_with(descend));
  all.config.save_checkpoints_steps = 2;
  std::vector<std::string> calls;
  TPUEstimator estimator(all);
  estimator.train(endless(),
                  {.max_steps = 10, .saving_listeners = {std::make_shared<Listening>(calls)}});
  EXPECT_THAT(calls, ElementsAre("begin", "before 0", "after 0", "before 2", "after 2", "before 4",
                                 "after 4", "end 4"));
  EXPECT_THAT(estimator.latest_checkpoint(), EndsWith("model.ckpt-4"));
  EXPECT_THAT(error_of([&] {
                estimator.train(endless(),
                                {.steps = 1, .saving_listeners = {std::shared_ptr<Listening>()}});
              }),
              HasSubstr("saving_listeners: listener, got a null pointer"));
}

TEST_F(TrainingTest, a_finished_model_is_not_evaluated_again) {
  TPUEstimator estimator(on_cpu(line_with(descend)));
  int evaluations = 0;
  const EvalSpec eval{.input_fn = [&](const Params& params) {
    ++evaluations;
    return one_epoch(16)(params);
  }};
  EXPECT_EQ(train_and_evaluate(estimator, {.input_fn = endless(), .max_steps = 4}, eval).examples(),
            16);
  EXPECT_EQ(evaluations, 1);
  EXPECT_EQ(train_and_evaluate(estimator, {.input_fn = endless(), .max_steps = 4}, eval).examples(),
            0);
  EXPECT_EQ(evaluations, 1);
}

TEST_F(TrainingTest, an_input_without_batches_is_an_error) {
  for (const auto& input : {one_epoch(3), InputFn([](const Params&) {
                              return Dataset::from_tensor_slices(line_of(64))
                                  .filter([](const Nest<Output>& element) {
                                    return less(reduce_sum(element[0].leaf()), -1.0F);
                                  })
                                  .batch(16);
                            })}) {
    EXPECT_THAT(
        error_of([&] { TPUEstimator(on_cpu(line_with(descend))).train(input, {.max_steps = 8}); }),
        HasSubstr("input_fn: batches, got none, expected at least one"));
  }
}

// for (epoch...) estimator.train(one epoch): as TensorFlow's programs do.
TEST_F(TrainingTest, each_call_reads_an_input_that_ended_from_its_start) {
  Estimator estimator({.model_fn = line_with(descend), .model_dir = folder_ / "model"});
  for (int epoch = 1; epoch <= 3; ++epoch) {
    estimator.train(one_epoch(64));
    EXPECT_THAT(estimator.latest_checkpoint(), EndsWith(fmt::format("model.ckpt-{}", 4 * epoch)));
  }
}

class Raising : public SessionRunHook {
 public:
  explicit Raising(int signal) : signal_(signal) {}
  int64_t steps_to_next_run(int64_t) const override { return INT64_MAX; }
  void before_run(RunContext&) override { std::raise(signal_); }

 private:
  int signal_;
};

// In the middle of a loop of a million steps, whose launches are short.
TEST_F(TrainingTest, a_signal_does_not_wait_for_a_long_loop) {
  TPUEstimatorOptions all = on_cpu(line_with(descend));
  all.config.tpu_config.iterations_per_loop = 1000000;
  TPUEstimator estimator(all);
  std::signal(SIGHUP, SIG_DFL);  // ignored under nohup
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::testing::internal::CaptureStderr();
    estimator.train(endless(), {.steps = 1000000, .hooks = {std::make_shared<Raising>(signal)}});
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr(fmt::format("{}: finishing the steps under way and saving; again "
                                            "to stop without saving",
                                            StopSignals::received())));
    EXPECT_EQ(estimator.get_variable_value("global_step").item<int64_t>(), signal == SIGINT    ? 1
                                                                           : signal == SIGTERM ? 2
                                                                                               : 3);
  }
}

TEST_F(TrainingTest, an_evaluation_in_a_folder_that_cannot_be_written_is_measured) {
  TPUEstimator estimator(on_cpu(line_with(descend)));
  estimator.train(endless(), {.max_steps = 1});
  // A file where the folder would be: permissions do not stop root.
  std::filesystem::remove_all(folder_ / "model/eval");
  std::filesystem::create_directory_symlink("/proc/nowhere", folder_ / "model/eval");
  const LogCapture log;
  EXPECT_EQ(estimator.evaluate(one_epoch(16)).examples(), 16);
  EXPECT_THAT(log.messages(), Contains(HasSubstr("warning: evaluate: event file, got")));
}

}  // namespace
}  // namespace systole
