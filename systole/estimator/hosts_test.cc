// Input of one of several hosts, which each call the input_fn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/estimator/input.h"
#include "systole/graph/api/array_ops.h"

namespace systole::estimator {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// What an input_fn was told in one call.
struct Told {
  int64_t batch_size;
  int64_t invocation;
  int64_t invocations;
  int64_t consumed;
  friend bool operator==(const Told&, const Told&) = default;
};
void PrintTo(const Told& told, std::ostream* out) {
  *out << told.batch_size << " of " << told.invocation << "/" << told.invocations << " for "
       << told.consumed;
}

// The calls by host 1 of 2 with 4 replicas each, for a batch of 32.
std::vector<Told> calls_of(InputPipelineConfig config, int64_t batch_size = 32) {
  std::vector<Told> calls;
  const Input input = make_input(
      [&](const Params& params) {
        const auto context = params["context"].as<TPUContext>();
        EXPECT_EQ(context.num_hosts(), 2);
        EXPECT_EQ(context.current_host(), 1);
        EXPECT_EQ(context.num_replicas(), 8);
        EXPECT_EQ(context.num_of_replicas_per_host(), 4);
        EXPECT_EQ(context.device_for_replica(6).second, 2);
        const auto& call = context.current_input_fn_deployment();
        const int64_t batch = params["batch_size"];
        calls.push_back(
            {batch, call.invocation_index, call.total_invocations, call.replicas_consumed});
        return Dataset::from_tensors(Tensor::zeros(DType::f32, {batch, 3})).repeat();
      },
      {.config = config,
       .replicas = 4,
       .hosts = 2,
       .host = 1,
       .use_tpu = true,
       .batch_size = batch_size,
       .params = {}});
  EXPECT_EQ(input.replicas, 4);
  EXPECT_EQ(input.replica_batch, config == InputPipelineConfig::BROADCAST ? 32 : 4);
  return calls;
}

TEST(Hosts, TellTheInputFnItsPart) {
  using enum InputPipelineConfig;
  EXPECT_EQ(calls_of(PER_HOST_V1), (std::vector<Told>{{16, 1, 2, 4}}));
  EXPECT_EQ(calls_of(PER_HOST_V2), (std::vector<Told>{{4, 1, 2, 4}}));
  EXPECT_EQ(calls_of(PER_SHARD_V1),
            (std::vector<Told>{{4, 4, 8, 1}, {4, 5, 8, 1}, {4, 6, 8, 1}, {4, 7, 8, 1}}));
  EXPECT_EQ(calls_of(BROADCAST), (std::vector<Told>{{32, 0, 1, 4}}));
}

// Images in a device's layout: 6 numbers of each example in one vector, labels beside them.
TEST(Hosts, TakeFlatFeaturesOfEachReplica) {
  const auto input_of = [](int64_t rows, InputPipelineConfig config) {
    return make_input(
        [&](const Params& params) {
          const int64_t batch = params["batch_size"];
          return Dataset::from_tensors(
                     Nest<Tensor>::tuple({Tensor::zeros(DType::f32, {batch * 6}),
                                          Tensor::zeros(DType::s32, {batch * rows})}))
              .repeat();
        },
        {.mode = Mode::eval,
         .config = config,
         .replicas = 4,
         .use_tpu = true,
         .batch_size = 16,
         .params = {}});
  };
  const Input input = input_of(1, InputPipelineConfig::PER_HOST_V2);
  EXPECT_EQ(input.replica_batch, 4);
  EXPECT_EQ(input.rows, (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(input.features.leaf(), (TensorType{DType::f32, {24}}));
  for (const int64_t rows : {1, 2}) {  // split, or no component with the batch
    EXPECT_THAT(error_of([&] {
                  input_of(rows, rows == 1 ? InputPipelineConfig::PER_HOST_V1
                                           : InputPipelineConfig::PER_HOST_V2);
                }),
                HasSubstr("expected one batch size"));
  }
}

// The graph of an input_fn ends with its call.
TEST(Hosts, RefuseDataOfTheGraph) {
  EXPECT_THAT(error_of([] {
                make_input(
                    [](const Params&) {
                      return Dataset::from_tensors(placeholder(DType::f32, {2, 3}));
                    },
                    {.params = {}});
              }),
              HasSubstr("input_fn: data set, got one that takes the value of 'Placeholder:0'"));
}

TEST(Hosts, SplitABatchOverAllReplicas) {
  EXPECT_THAT(error_of([] { calls_of(InputPipelineConfig::PER_HOST_V1, 36); }),
              HasSubstr("train batch size 36 must be divisible by number of replicas 8"));
}

TEST(Hosts, AreOneWithoutALauncher) {
  const TPUContext context(8);
  EXPECT_EQ(context.num_hosts(), 1);
  EXPECT_EQ(context.device_for_replica(7),
            (std::pair<std::string, int64_t>("/task:0/device:CPU:0", 7)));
}

}  // namespace
}  // namespace systole::estimator
