// The profile of a training that runs. What it says does not depend on times; the advice, which
// does, has tests on recordings: profile/advice_test.cc.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/profile/report.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Two products, a gradient that replicas add up, and a host call.
TPUEstimatorSpec profiled_model(const Nest<Output>& features, const Nest<Output>&, Mode mode,
                                const Params&) {
  const Output x = features;
  const Output hidden = layers::dense(x, {.units = 130, .activation = relu});
  const Variable weights(Tensor::full(DType::f32, {20'000}, 0.1), {.name = "weights"});
  const Output loss = reduce_mean(square(hidden)) + reduce_mean(weights.value() * reduce_mean(x));
  GradientDescentOptimizer descent(1e-6);
  const Operation train_op =
      CrossShardOptimizer(descent).minimize(loss, {.global_step = get_global_step()});
  return {.mode = mode,
          .loss = loss,
          .train_op = train_op,
          .host_call = {.fn = [](std::span<const Tensor>) {}}};
}

InputFnResult profiled_input(const Params& params) {
  const Dataset examples = Dataset::from_tensors(Tensor::full(DType::f32, {130}, 0.5)).repeat();
  return examples.map_cpp([](const Element& element) { return element; }, examples.element_spec())
      .batch(params.get("batch_size", int64_t{64}), true);
}

std::vector<std::string> texts_of(const json& rows, const std::string& key) {
  std::vector<std::string> texts;
  for (const json& row : rows) texts.push_back(row.at(key));
  return texts;
}

TEST(ProfileSmokeTest, HasTheInputTheHostCallAndTheOps) {
  const systole::testing::TempFolder folder;
  MemoryFileSystem files;
  TPUEstimator estimator(
      {.model_fn = profiled_model,
       .model_dir = folder.path(),
       .config = {.save_summary_steps = 0,
                  .save_checkpoints_steps = 0,
                  .tpu_config = {.iterations_per_loop = 10, .check = Check::off}},
       .use_tpu = true,
       .train_batch_size = 64});
  estimator.train(profiled_input,
                  {.steps = 40,
                   .profile = ProfileOptions{
                       .start = 10, .steps = 30, .output_dir = "logs", .file_system = &files}});
  const json figures = profile::read_profile(files, "logs");
  EXPECT_EQ(figures["steps"], 30);
  EXPECT_EQ(figures["replicas"], 8);
  EXPECT_EQ(figures["problem"], "");
  ASSERT_FALSE(figures["inputs"].empty());
  EXPECT_THAT(texts_of(figures["inputs"][0], "name"), Contains("map_cpp"));
  EXPECT_THAT(texts_of(figures["host"], "name"), Contains("host_call"));
  EXPECT_THAT(texts_of(figures["ops"], "category"),
              AllOf(Contains("all-reduce"), Contains("convolution")));
  EXPECT_THAT(profile::report_text(figures), HasSubstr("host_call"));
}

}  // namespace
}  // namespace systole
