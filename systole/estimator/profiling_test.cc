// Profiles and traces of trainings.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/profile/report.h"
#include "systole/profile/trace_json.h"
#include "systole/profile/writer.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/loop/profiler_hook.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using nlohmann::json;
using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TPUEstimatorSpec two_layers(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                            const Params&) {
  const Output hidden =
      layers::dense(features, {.units = 64, .activation = tanh, .name = "hidden"});
  const Output y =
      layers::dense(layers::dropout(hidden, {.rate = 0.5, .training = true}), {.units = 1});
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  return {.mode = mode,
          .loss = loss,
          .train_op = CrossShardOptimizer(GradientDescentOptimizer(0.1))
                          .minimize(loss, {.global_step = get_global_step()})};
}

InputFnResult constant_input(const Params& params) {
  const int64_t batch = params["batch_size"];
  return Dataset::from_tensor_slices(Element::tuple({Tensor::full(DType::f32, {64, 32}, 0.5),
                                                     Tensor::full(DType::f32, {64, 1}, 1)}))
      .repeat()
      .batch(batch, true);
}

class ProfilingTest : public ::testing::Test {
 protected:
  // Trains 20 steps in loops of 4. Returns the weights.
  Tensor train(const std::string& name, const TrainOptions& options) {
    TPUEstimator estimator(
        {.model_fn = two_layers,
         .model_dir = folder_ / name,
         .config = {.tf_random_seed = 1, .tpu_config = {.iterations_per_loop = 4}},
         .train_batch_size = 64});
    estimator.train(constant_input, options);
    return estimator.get_variable_value("hidden/kernel");
  }
  const TempFolder folder_;
};

TEST_F(ProfilingTest, a_hook_traces_the_loops_that_are_due) {
  MemoryFileSystem files;
  const auto hook = std::make_shared<ProfilerHook>(ProfilerHook::Options{
      .save_steps = 8, .output_dir = "traces", .show_memory = true, .file_system = &files});
  const Tensor with = train("with", {.max_steps = 20, .hooks = {hook}});
  EXPECT_TRUE(with.identical(train("without", {.max_steps = 20})));

  EXPECT_THAT(files.list("traces"), ElementsAre("timeline-16.json", "timeline-4.json"));
  const std::string text = read_file(files, "traces/timeline-16.json");
  EXPECT_THAT(profile::check_trace_json(text), IsEmpty());
  std::vector<std::string> names;
  std::vector<std::string> phases;
  int steps = 0;
  const json trace = json::parse(text);
  for (const json& event : trace["traceEvents"]) {
    if (!event.contains("ph")) continue;
    phases.push_back(event["ph"]);
    if (event["ph"] != "X") continue;
    names.push_back(event["name"]);
    if (event["pid"] == 2 && event["tid"] == 1) ++steps;
  }
  EXPECT_EQ(steps, 4);
  EXPECT_THAT(names, Contains("launch"));
  EXPECT_THAT(names, Contains(HasSubstr("hidden")));  // the row of name scopes
  EXPECT_THAT(phases, Contains("s"));
  EXPECT_THAT(phases, Contains("C"));
  EXPECT_EQ(error_of([] { ProfilerHook({}); }),
            "INVALID_ARGUMENT: exactly one of save_steps and save_secs must be provided.");
}

TEST_F(ProfilingTest, train_profiles_the_steps_that_it_is_asked_for) {
  const Tensor with =
      train("with", {.max_steps = 20, .profile = ProfileOptions{.start = 5, .steps = 6}});
  EXPECT_TRUE(with.identical(train("without", {.max_steps = 20})));
  // The loops that begin at the steps 8 and 12.
  const json figures = profile::read_profile(default_file_system(), folder_ / "with");
  EXPECT_EQ(figures["steps"], 8);
  EXPECT_EQ(figures["problem"], "");
  EXPECT_EQ(figures["step_rows"][0]["number"], 8);
  EXPECT_GE(figures["launches"], 2);
  std::vector<std::string> scopes;
  for (const json& op : figures["ops"]) scopes.push_back(op["scope"]);
  EXPECT_THAT(scopes, Contains(HasSubstr("hidden")));
  double parts = 0;
  for (const auto& [name, seconds] : figures["parts"].items()) parts += seconds.get<double>();
  EXPECT_NEAR(parts / figures["seconds"].get<double>(), 1, 1e-6);

  EXPECT_THAT(
      error_of([&] { train("bad", {.max_steps = 4, .profile = ProfileOptions{.steps = 0}}); }),
      HasSubstr("profile: steps, got 0, expected at least 1"));
}

// A training that ends early has a profile of what it ran; a capture in progress is left alone.
TEST_F(ProfilingTest, the_end_of_training_ends_a_profile) {
  MemoryFileSystem files;
  const ProfileOptions all{.start = 0, .steps = 1000, .output_dir = "logs", .file_system = &files};
  train("short", {.max_steps = 4, .profile = all});
  EXPECT_EQ(profile::read_profile(files, "logs")["steps"], 4);

  MemoryFileSystem others;
  profile::Capture other("other", &others);
  const ProfileOptions beside{.start = 0, .output_dir = "beside", .file_system = &files};
  train("beside", {.max_steps = 4, .profile = beside});
  EXPECT_FALSE(files.exists("beside/plugins"));
  EXPECT_EQ(other.finish().analysis.steps.size(), 4U);
}

}  // namespace
}  // namespace systole
