// Traces of loops.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/loop/profiler_hook.h"
#include "systole/train/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfilerHook, traces_the_loops_that_are_due) {
  MemoryFileSystem files;
  const TempFolder folder;
  const auto train = [&](const std::string& name, HookList hooks) {
    TPUEstimator estimator(
        {.model_fn = [](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                        const Params&) -> TPUEstimatorSpec {
           const Output hidden =
               layers::dense(features, {.units = 64, .activation = tanh, .name = "hidden"});
           const Output y = layers::dense(layers::dropout(hidden, {.rate = 0.5, .training = true}),
                                          {.units = 1});
           const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
           return {.mode = mode,
                   .loss = loss,
                   .train_op = CrossShardOptimizer(GradientDescentOptimizer(0.1))
                                   .minimize(loss, {.global_step = get_global_step()})};
         },
         .model_dir = folder / name,
         .config = {.tf_random_seed = 1, .tpu_config = {.iterations_per_loop = 4}},
         .train_batch_size = 64});
    estimator.train(
        [](const Params& params) {
          const int64_t batch = params["batch_size"];
          return Dataset::from_tensor_slices(
                     Element::tuple({Tensor::full(DType::f32, {64, 32}, 0.5),
                                     Tensor::full(DType::f32, {64, 1}, 1)}))
              .repeat()
              .batch(batch, true);
        },
        {.max_steps = 20, .hooks = std::move(hooks)});
    return estimator.get_variable_value("hidden/kernel");
  };
  const Tensor with =
      train("with", {std::make_shared<ProfilerHook>(ProfilerHook::Options{
                        .save_steps = 8, .output_dir = "traces", .file_system = &files})});
  EXPECT_TRUE(with.identical(train("without", {})));

  EXPECT_THAT(files.list("traces"), ElementsAre("timeline-16.json", "timeline-4.json"));
  const auto trace = nlohmann::json::parse(read_file(files, "traces/timeline-16.json"));
  std::vector<std::string> names;
  double operations = 0;
  double loop = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    names.push_back(event["name"]);
    (event["tid"] == 0 ? loop : operations) += event["dur"].get<double>();
  }
  EXPECT_THAT(names, Contains("loop to step 16"));
  EXPECT_THAT(names, Contains(HasSubstr("dot")));
  EXPECT_GT(operations, 0);
  EXPECT_GT(loop, 0);
}

TEST(ProfilerHook, traces_are_json_whatever_a_program_is_called) {
  const runtime::StepProfile step{.step = "a \"quoted\" \xff name", .runs = 2, .seconds = 0.5};
  const auto trace = nlohmann::json::parse(chrome_trace({&step, 1}, 7, 1));
  EXPECT_EQ(trace["traceEvents"].size(), 4U);
  EXPECT_EQ(trace["traceEvents"][3]["dur"], 5e5);
  EXPECT_EQ(error_of([] { ProfilerHook({}); }),
            "INVALID_ARGUMENT: exactly one of save_steps and save_secs must be provided.");
}

}  // namespace
}  // namespace systole
