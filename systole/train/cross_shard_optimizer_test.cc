#include "systole/train/cross_shard_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/step_loop.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ShardReduction = CrossShardOptimizerOptions::Reduction;

// The weight after one step of descent with rate 1 on the loss w * x, where shard i has x = i + 1.
float weight_after_step(const CrossShardOptimizerOptions& options, int shards, bool split_calls) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {}, "x");
  const Variable w(0.0F, {.name = "w"});
  CrossShardOptimizer optimizer(GradientDescentOptimizer(1.0), options);
  const Output loss = multiply(w, x);
  const Operation train = split_calls ? optimizer.apply_gradients(optimizer.compute_gradients(loss))
                                      : optimizer.minimize(loss);
  Session session("", {.graph = &graph});
  session.run(global_variables_initializer());
  StepLoop loop(
      session,
      {.inputs = {x}, .input_types = {x.type()}, .targets = {train}, .num_replicas = shards});
  Tensor values(DType::f32, {shards, 1});
  for (int i = 0; i < shards; ++i) values.data<float>()[i] = i + 1.0F;
  loop.run({{values}}, 1);
  EXPECT_TRUE(loop.averaged_variables().empty());
  return session.variable_value(w).item<float>();
}

TEST(CrossShardOptimizer, AveragesOrSums) {
  for (const bool split_calls : {false, true}) {
    EXPECT_EQ(weight_after_step({}, 4, split_calls), -2.5F);
    EXPECT_EQ(weight_after_step({.reduction = ShardReduction::SUM}, 4, split_calls), -10);
    EXPECT_EQ(weight_after_step({}, 1, split_calls), -1);
    EXPECT_EQ(weight_after_step({.reduction = ShardReduction::SUM}, 1, split_calls), -1);
  }
}

TEST(CrossShardOptimizer, AContextDoesNotDivideWhatOneShardComputes) {
  tpu::get_tpu_context().set_number_of_shards(8);
  EXPECT_EQ(weight_after_step({}, 1, false), -1);
  tpu::get_tpu_context().set_number_of_shards(std::nullopt);
}

TEST(CrossShardOptimizer, HasTheSlotsOfTheOther) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(0.0F, {.name = "w"});
  CrossShardOptimizer optimizer(MomentumOptimizer(1.0, 0.5));
  optimizer.minimize(square(w));
  EXPECT_EQ(optimizer.name(), "CrossShardOptimizer");
  EXPECT_THAT(optimizer.slot_names(), ElementsAre("momentum"));
  EXPECT_EQ(optimizer.slot(w, "momentum").name(), "w/Momentum");
  EXPECT_EQ(optimizer.variables().size(), 1U);
}

std::string error_of(const tpu::GroupAssignment& groups, std::optional<int> shards = {}) {
  tpu::get_tpu_context().set_number_of_shards(shards);
  std::string text;
  try {
    CrossShardOptimizer(GradientDescentOptimizer(1.0), {.group_assignment = groups});
  } catch (const Error& error) {
    text = error.what();
  }
  tpu::get_tpu_context().set_number_of_shards(std::nullopt);
  return text;
}

TEST(CrossShardOptimizer, ChecksGroups) {
  EXPECT_EQ(error_of({{0, 2}, {1, 3}}, 4), "");
  EXPECT_THAT(error_of({{0, 1}, {2}}), HasSubstr("groups of 2 and 1 shards"));
  EXPECT_THAT(error_of({{0, 1}}, 4), HasSubstr("got 2 shards, expected a permutation of the 4"));
  EXPECT_THAT(error_of({{0, 2}}), HasSubstr("got 2 where 1 should be"));
}

TEST(ShardContext, CannotBeNested) {
  const tpu::ShardContext outer(4);
  EXPECT_EQ(tpu::get_tpu_context().number_of_shards(), 4);
  EXPECT_THROW(tpu::ShardContext(2), Error);
  EXPECT_EQ(tpu::get_tpu_context().number_of_shards(), 4);
}

}  // namespace
}  // namespace systole
