// Functions of data sets that use tensors from around them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/data/dataset.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/core/variable.h"

namespace systole::data {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

Dataset counted(int64_t n) {
  return Dataset::range(n).map([](Output x) { return cast(x, DType::f32); });
}

class CapturesTest : public ::testing::Test {
 private:
  Graph graph_;
  const GraphScope scope_{graph_};
};

TEST_F(CapturesTest, ConstantsAndWhatFollowsFromThem) {
  const Output mean = constant(Tensor::of<float>({2}, {1, 2}));
  const Output deviation = sqrt(constant(16.0F));
  const Dataset scaled =
      counted(3).map([&](Output x) { return (reshape(x, {1}) - mean) / deviation; });
  EXPECT_EQ(scaled.element_spec().to_string(), "f32[2]");
  const std::string expected = "[-0.25 -0.5] [0 -0.25] [0.25 0]";
  EXPECT_EQ(joined(scaled), expected);
  EXPECT_EQ(joined(scaled.prefetch(2)), expected);
  // A form for batches is that of a function of constants.
  const Dataset batches = scaled.batch(3);
  EXPECT_THAT(batches.to_string(), HasSubstr("map_batches"));
  EXPECT_EQ(joined(batches), "[[-0.25 -0.5] [0 -0.25] [0.25 0]]");
  const HostFunction function = scaled.functions().back().function;
  EXPECT_EQ(joined(counted(3).map(function)), expected);
}

TEST_F(CapturesTest, TablesAndTexts) {
  const Output table = constant(Tensor::of<float>({3, 2}, {0, 1, 10, 11, 20, 21}));
  const Output names = constant(Tensor::of<std::string>({3}, {"a", "b", "c"}));
  const Output prefix = string_join({constant("n"), constant("/")});
  const Dataset looked_up = Dataset::range(3).map([&](Output x) {
    return Nest<Output>::tuple({gather(table, x), string_join({prefix, gather(names, x)})});
  });
  const std::string rows = "([0 1], n/a) ([10 11], n/b) ([20 21], n/c)";
  EXPECT_EQ(joined(looked_up), rows);
  const Dataset found = Dataset::range(3).map([&](Output x) { return gather(table, x); });
  EXPECT_EQ(found.batch(2).to_string(), "range(0, 3, 1).batch(2).map_batches()");
  EXPECT_EQ(joined(found.batch(2)), "[[0 1] [10 11]] [[20 21]]");
}

// In loops and branches of the function, after control dependencies, as the result itself, and in
// a function of a function of data sets.
TEST_F(CapturesTest, WhereverInTheFunction) {
  const Output two = constant(1.0F) + constant(1.0F);
  const Dataset branches = counted(4).map([&](Output x) {
    return cond(
        x > two, [&] { return x * two; }, [&] { return two; });
  });
  EXPECT_EQ(joined(branches), "2 2 2 6");
  const Dataset waiting = counted(3).map([&](Output x) {
    const Output doubled = x * 2.0F;
    const ControlDependencies behind({doubled});
    return x + two;
  });
  EXPECT_EQ(joined(waiting), "2 3 4");
  const Dataset alone = counted(2).map([&](Output x) { return Nest<Output>::tuple({two, x}); });
  EXPECT_EQ(joined(alone), "(2, 0) (2, 1)");
  const Dataset inner = counted(2).flat_map(
      [&](const Dataset& x) { return x.repeat(2).map([&](Output y) { return y + two; }); });
  EXPECT_EQ(joined(inner), "2 2 3 3");
  EXPECT_EQ(joined(counted(5).filter([&](Output x) { return x > two; })), "3 4");
  const Dataset buckets = Dataset::range(4).bucket_by_sequence_length(
      [&](Output x) { return x + cast(two, DType::s64); },
      {.bucket_boundaries = {4}, .bucket_batch_sizes = {2, 2}});
  EXPECT_EQ(joined(buckets), "[0 1] [2 3]");
}

TEST_F(CapturesTest, IsComputedOnce) {
  const Output two = constant(1.0F) + constant(1.0F);
  const Dataset dataset = counted(2).map([&](Output x) { return (x + two) * two; });
  const std::string text = dataset.functions().back().function.to_string();
  const size_t first = text.find(" = Const");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(" = Const", first + 1), std::string::npos) << text;
}

TEST_F(CapturesTest, RestoresAtEveryPosition) {
  const Output two = constant(1.0F) + constant(1.0F);
  const Output table = constant(Tensor::of<float>({3}, {7, 8, 9}));
  const auto make = [&](int64_t calls) {
    return Dataset::range(9)
        .map([&](Output x) { return gather(table, x % int64_t{3}) * two; },
             {.num_parallel_calls = calls})
        .filter([&](Output x) { return x > 7.0F * two; })
        .shuffle(3, {.seed = 1})
        .batch(2);
  };
  for (const int64_t calls : {0, 2}) {
    const std::vector<std::string> all = elements(make(calls));
    EXPECT_EQ(all.size(), 3U);
    for (int64_t position = 0; position <= 4; ++position) {
      Iterator saved(make(calls));
      std::vector<std::string> got = rest(saved, position);
      Iterator restored(make(calls));
      restored.restore_state(saved.save_state());
      for (const std::string& element : rest(restored)) got.push_back(element);
      EXPECT_EQ(got, all) << position;
    }
  }
}

TEST_F(CapturesTest, WhatCannotBeCaptured) {
  const auto error_with = [](const Output& outside) {
    return error_of([&] { (void)counted(2).map([&](Output x) { return x + outside; }); });
  };
  const Variable variable(1.0F, {.name = "v"});
  EXPECT_THAT(error_with(variable.value() * 2.0F),
              HasSubstr("INVALID_ARGUMENT: Add: tensor 'mul:0' of the graph around the function, "
                        "got one that follows from node 'v'"));
  EXPECT_THAT(error_with(variable.value()),
              HasSubstr("(VarHandleOp), expected one of constants; variables can be used on what "
                        "get_next() gives"));
  Graph elsewhere;
  Output other;
  {
    const GraphScope scope(elsewhere);
    other = constant(1.0F);
  }
  EXPECT_THAT(error_with(other), HasSubstr("of another graph"));
  Output leaked;
  const Dataset kept = counted(2).map([&](Output x) { return leaked = x; });
  EXPECT_THAT(error_with(leaked), HasSubstr("of another graph"));
}

}  // namespace
}  // namespace systole::data
