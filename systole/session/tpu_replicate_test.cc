// Replicated computations in programs of a session, on every backend.
#include "systole/graph/functions/tpu_replicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/error.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using OutputList = std::vector<Output>;

Tensor row_of(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

std::vector<float> floats_of(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

class TpuReplicateTest : public ::testing::TestWithParam<std::string> {
 protected:
  SessionConfig config() { return {.graph = &graph_, .backend = GetParam(), .entropy = 7}; }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_P(TpuReplicateTest, EachReplicaHasItsInputs) {
  const Output x = placeholder(DType::f32, {2}, "x");
  const Output y = placeholder(DType::f32, {2}, "y");
  const auto results = tpu::replicate(
      [](const OutputList& in) {
        return OutputList{multiply(in[0], cast(add(tpu::replica_id(), 1), DType::f32)),
                          tpu::cross_replica_sum(in[0])};
      },
      {{x}, {y}});
  Session session("local", config());
  const auto got = session.run({results[0][0], results[1][0], results[0][1], results[1][1]},
                               {{x, row_of({1, 2})}, {y, row_of({10, 20})}});
  EXPECT_THAT(floats_of(got[0]), ElementsAre(1, 2));
  EXPECT_THAT(floats_of(got[1]), ElementsAre(20, 40));
  EXPECT_THAT(floats_of(got[2]), ElementsAre(11, 22));
  EXPECT_THAT(floats_of(got[3]), ElementsAre(11, 22));
}

// What the host does comes before the program, for all replicas.
TEST_P(TpuReplicateTest, HostOpsStandOutsideOfTheProgram) {
  const Output text = placeholder(DType::string, {2}, "text");
  const auto results = tpu::replicate(
      [&](const OutputList& in) {
        const OutputList numbers = tpu::outside_compilation(
            [&] { return OutputList{string_to_number(text, {.out_type = DType::f32})}; });
        return OutputList{tpu::cross_replica_sum(add(in[0], numbers[0]))};
      },
      {{constant(row_of({1, 2}))}, {constant(row_of({10, 20}))}});
  Session session("local", config());
  const auto got = session.run({results[0][0], results[1][0]},
                               {{text, Tensor::of<std::string>({2}, {"100", "0.5"})}});
  EXPECT_THAT(floats_of(got[0]), ElementsAre(211, 23));
  EXPECT_THAT(floats_of(got[1]), ElementsAre(211, 23));
}

TEST_P(TpuReplicateTest, PartsGoFromReplicaToReplica) {
  const Output x = placeholder(DType::f32, {2}, "x");
  const Output y = placeholder(DType::f32, {2}, "y");
  const auto results = tpu::replicate(
      [](const OutputList& in) {
        return OutputList{tpu::all_to_all(in[0], {.split_count = 2}),
                          tpu::collective_permute(in[0], {{0, 1}})};
      },
      {{x}, {y}});
  Session session("local", config());
  const auto got = session.run({results[0][0], results[1][0], results[0][1], results[1][1]},
                               {{x, row_of({1, 2})}, {y, row_of({10, 20})}});
  EXPECT_THAT(floats_of(got[0]), ElementsAre(1, 10));
  EXPECT_THAT(floats_of(got[1]), ElementsAre(2, 20));
  EXPECT_THAT(floats_of(got[2]), ElementsAre(0, 0));
  EXPECT_THAT(floats_of(got[3]), ElementsAre(1, 2));
}

TEST_P(TpuReplicateTest, ShardSplitsAndJoins) {
  const Output x = placeholder(DType::f32, {4, 2}, "x");
  const auto computation = [](const OutputList& in) {
    return OutputList{multiply(in[0], 2.0F), reduce_sum(in[0])};
  };
  const OutputList rows = tpu::batch_parallel(computation, {x}, 4);
  const OutputList columns = tpu::shard(
      computation, {x}, {.num_shards = 2, .input_shard_axes = {1}, .output_shard_axes = {1, 0}});
  const OutputList first =
      tpu::shard(computation, {x}, {.num_shards = 4, .outputs_from_all_shards = false});
  const Tensor value = Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Session session("local", config());
  const auto by_row = session.run({rows[0], rows[1], first[0]}, {{x, value}});
  EXPECT_THAT(floats_of(by_row[0]), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_THAT(floats_of(by_row[1]), ElementsAre(3, 7, 11, 15));
  EXPECT_THAT(floats_of(by_row[2]), ElementsAre(2, 4));
  const auto by_column = session.run({columns[0], columns[1]}, {{x, value}});
  EXPECT_EQ(by_column[0].shape(), (Shape{4, 2}));
  EXPECT_THAT(floats_of(by_column[0]), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_THAT(floats_of(by_column[1]), ElementsAre(16, 20));
}

TEST_P(TpuReplicateTest, VariablesHaveOneValue) {
  const Variable w(1.0F, {.name = "w"});
  const Output x = placeholder(DType::f32, {2, 1}, "x");
  const OutputList done = tpu::batch_parallel(
      [&](const OutputList& in) {
        const Output mean = divide(tpu::cross_replica_sum(reduce_sum(in[0])), 2.0F);
        return OutputList{w.assign_add(mean)};
      },
      {x}, 2);
  Session session("local", config());
  session.run(global_variables_initializer());
  session.run(done[0], {{x, Tensor::of<float>({2, 1}, {2, 4})}});
  EXPECT_EQ(session.variable_value(w).item<float>(), 4);
}

TEST_P(TpuReplicateTest, DrawsOfReplicasAreTheirOwn) {
  const Output outside = random_uniform({4}, {.seed = 5});
  const OutputList inside = tpu::shard(
      [](const OutputList&) { return OutputList{random_uniform({4})}; }, {}, {.num_shards = 2});
  Session session("local", config());
  const auto got = session.run({inside[0], outside});
  const std::vector<float> values = floats_of(got[0]);
  EXPECT_NE(std::vector(values.begin(), values.begin() + 4),
            std::vector(values.begin() + 4, values.end()));
  EXPECT_EQ(got[1].shape(), Shape{4});
}

// A variable that is made inside begins with one draw, the same as a variable made outside would.
TEST_P(TpuReplicateTest, VariablesMadeInsideBeginAlike) {
  Variable w;
  const auto results = tpu::replicate(
      [&](const OutputList&) {
        w = Variable(random_normal({64}), {.name = "w"});
        return OutputList{reduce_sum(square(w))};
      },
      {{}, {}, {}, {}});
  Session session("local", config());
  session.run(global_variables_initializer());
  const Tensor value = session.variable_value(w);
  double squares = 0;
  for (int64_t i = 0; i < 64; ++i) squares += value.as_double(i) * value.as_double(i);
  // The mean of four draws would have a quarter of it.
  EXPECT_GT(squares, 32);
  EXPECT_NEAR(session.run(results[3][0]).item<float>(), squares, 1e-3);
}

TEST_P(TpuReplicateTest, RewriteAndLoops) {
  const Output x = placeholder(DType::f32, {}, "x");
  const OutputList result = tpu::rewrite(
      [](const OutputList& in) {
        const OutputList doubled = tpu::repeat(
            3, [](const OutputList& v) { return OutputList{multiply(v[0], 2.0F)}; }, {in[0]});
        return tpu::while_loop([](const OutputList& v) { return less(v[0], 100.0F); },
                               [](const OutputList& v) { return OutputList{multiply(v[0], 3.0F)}; },
                               {doubled[0]});
      },
      {x});
  Session session("local", config());
  EXPECT_EQ(session.run(result[0], {{x, Tensor(1.0F)}}).item<float>(), 216);
}

TEST_P(TpuReplicateTest, Errors) {
  const Output x = placeholder(DType::f32, {3}, "x");
  const Output unknown = placeholder(DType::f32, {-1}, "unknown");
  const auto same = [](const OutputList& in) { return in; };
  const auto shard = [&](const Output& input, const tpu::ShardOptions& options) {
    return error_of([&] { tpu::shard(same, {input}, options); });
  };
  EXPECT_THAT(shard(x, {.num_shards = 0}), HasSubstr("num_shards, got 0, expected a positive"));
  EXPECT_THAT(shard(x, {.num_shards = 2}), HasSubstr("got 3, expected a multiple of num_shards 2"));
  EXPECT_THAT(shard(unknown, {.num_shards = 2}), HasSubstr("got one not known"));
  EXPECT_THAT(shard(x, {.num_shards = 3, .input_shard_axes = {0, 0}}),
              HasSubstr("input_shard_axes, got 2 axes, expected 1"));
  EXPECT_THAT(error_of([&] { tpu::replicate(same, {}); }), HasSubstr("got no list"));
  EXPECT_THAT(error_of([&] {
                tpu::replicate(same, {{x}, {}});
              }),
              HasSubstr("inputs of replica 1, got 0, expected 1"));
  EXPECT_THAT(error_of([&] {
                tpu::rewrite([&](const OutputList& in) { return tpu::rewrite(same, in); }, {x});
              }),
              HasSubstr("cannot be nested"));
  Output inner;
  const auto results = tpu::replicate(
      [&](const OutputList& in) {
        inner = multiply(in[0], 2.0F, {.name = "inner"});
        return OutputList{inner};
      },
      {{x}, {multiply(x, 3.0F)}});
  Session session("local", config());
  EXPECT_THAT(error_of([&] {
                session.run(inner, {{x, row_of({1, 2, 3})}});
              }),
              HasSubstr("inner:0', got a tensor inside of a TPU computation, which has been marked "
                        "as not fetchable"));
  EXPECT_THAT(floats_of(session.run(results[1][0], {{x, row_of({1, 2, 3})}})),
              ElementsAre(6, 12, 18));
  Session single("local:1", config());
  EXPECT_THAT(error_of([&] {
                single.run(results[1][0], {{x, row_of({1, 2, 3})}});
              }),
              HasSubstr("replicas, got 2, expected at most 1, one a core"));
}

INSTANTIATE_TEST_SUITE_P(Backends, TpuReplicateTest, ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace systole
