#include "systole/stablehlo/chlo/chlo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/stablehlo/chlo/testing/run_expansion.h"

namespace systole::hlo::chlo {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::run;

Tensor s32(const Shape& shape, const std::vector<int32_t>& elements) {
  return Tensor::of<int32_t>(shape, elements);
}

TEST(ChloTest, FindsByName) {
  EXPECT_NE(find_expansion("is_inf"), nullptr);
  EXPECT_NE(find_expansion("broadcast_add"), nullptr);
  EXPECT_EQ(find_expansion("broadcast_exponential"), nullptr);
  EXPECT_EQ(find_expansion("add"), nullptr);
  EXPECT_EQ(find_expansion("dynamic_reshape"), nullptr);
  EXPECT_EQ(find_expansion(""), nullptr);
}

TEST(ChloTest, NamesAreSortedAndOnce) {
  for (size_t i = 1; i < all_expansions().size(); ++i) {
    EXPECT_LT(all_expansions()[i - 1].name, all_expansions()[i].name);
  }
}

TEST(ChloBroadcastTest, NumpyRule) {
  const Tensor x = s32({2, 1}, {1, 2});
  const Tensor y = s32({3}, {10, 20, 30});
  EXPECT_TRUE(run("broadcast_add", {x, y})[0].identical(s32({2, 3}, {11, 21, 31, 12, 22, 32})));
  EXPECT_TRUE(run("broadcast_subtract", {Tensor(1), y})[0].identical(s32({3}, {-9, -19, -29})));
  EXPECT_TRUE(run("broadcast_multiply", {y, y})[0].identical(s32({3}, {100, 400, 900})));
}

TEST(ChloBroadcastTest, ExplicitDimensions) {
  const Tensor x = s32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = s32({2}, {10, 20});
  const Attrs rows{.broadcast_dimensions = Dims{0}};
  const Tensor expected = s32({2, 3}, {11, 12, 13, 24, 25, 26});
  EXPECT_TRUE(run("broadcast_add", {x, y}, rows)[0].identical(expected));
  EXPECT_TRUE(run("broadcast_add", {y, x}, rows)[0].identical(expected));
  const Attrs same_rank{.broadcast_dimensions = Dims{0}};
  EXPECT_TRUE(run("broadcast_add", {y, y}, same_rank)[0].identical(s32({2}, {20, 40})));
}

TEST(ChloBroadcastTest, Compare) {
  const Tensor got = run("broadcast_compare", {s32({2}, {1, 3}), Tensor(2)},
                         {.comparison_direction = ComparisonDirection::lt})[0];
  EXPECT_TRUE(got.identical(Tensor::of<bool>({2}, {true, false})));
}

TEST(ChloBroadcastTest, Errors) {
  const Tensor x = s32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = s32({2}, {10, 20});
  EXPECT_THAT(error_of("broadcast_add", {x, y}),
              HasSubstr("chlo.broadcast_add: shapes, got [2,3] and [1,2], expected equal sizes"));
  EXPECT_THAT(error_of("broadcast_add", {x}),
              HasSubstr("chlo.broadcast_add: operands, got 1, expected 2"));
  for (const Dims& dimensions : {Dims{}, Dims{2}, Dims{-1}, Dims{0, 1}}) {
    EXPECT_THAT(error_of("broadcast_add", {x, y}, {.broadcast_dimensions = dimensions}),
                HasSubstr("chlo.broadcast_add: broadcast_dimensions, got ["));
  }
}

TEST(ChloFormulaTest, Errors) {
  EXPECT_THAT(error_of("is_inf", {Tensor(1)}),
              HasSubstr("chlo.is_inf: element type, got s32, expected floating-point"));
  EXPECT_THAT(error_of("is_inf", {Tensor(1.0F), Tensor(1.0F)}),
              HasSubstr("chlo.is_inf: operands, got 2, expected 1"));
}

}  // namespace
}  // namespace systole::hlo::chlo
