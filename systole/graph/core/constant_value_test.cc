#include "systole/graph/core/constant_value.h"

#include <gmock/gmock.h>

#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole {
namespace {

using Element = std::optional<int64_t>;
using ::testing::ElementsAre;

constexpr Element kNone = std::nullopt;

class ConstantValueTest : public ::testing::Test {
 protected:
  std::vector<Element> elements(const Output& value) {
    const auto partial = partial_value(value);
    return partial ? partial->elements : std::vector<Element>{-99};
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Output x_ = placeholder("float", {kUnknown, 3, 4}, "x");
  Output shape_ = shape(x_);
};

TEST_F(ConstantValueTest, knows_constants_of_any_dtype) {
  EXPECT_EQ(constant_value(constant(2.5F))->item<float>(), 2.5F);
  EXPECT_EQ(constant_value(identity(constant(2.5F)))->item<float>(), 2.5F);
  EXPECT_FALSE(constant_value(x_).has_value());
  EXPECT_FALSE(constant_value(exp(constant(2.5F))).has_value());
}

TEST_F(ConstantValueTest, knows_what_is_known_of_shapes) {
  EXPECT_THAT(elements(shape_), ElementsAre(kNone, 3, 4));
  EXPECT_THAT(elements(rank(x_)), ElementsAre(3));
  EXPECT_THAT(elements(size(x_)), ElementsAre(kNone));
  EXPECT_THAT(elements(size(placeholder("float", {2, 3}))), ElementsAre(6));
  EXPECT_THAT(elements(cast(shape_, DType::s64)), ElementsAre(kNone, 3, 4));
}

TEST_F(ConstantValueTest, follows_cuts_of_shapes) {
  EXPECT_THAT(elements(slice(shape_, {1}, {-1})), ElementsAre(3, 4));
  EXPECT_THAT(elements(strided_slice(shape_, {0}, {2})), ElementsAre(kNone, 3));
  EXPECT_THAT(elements(strided_slice(shape_, {-1}, {0}, {.shrink_axis_mask = 1})), ElementsAre(4));
  EXPECT_THAT(
      elements(strided_slice(shape_, {0}, {0}, {.strides = {-1}, .begin_mask = 1, .end_mask = 1})),
      ElementsAre(4, 3, kNone));
  EXPECT_THAT(elements(strided_slice(shape_, {0}, {9}, {.strides = {2}})), ElementsAre(kNone, 4));
  EXPECT_THAT(elements(gather(shape_, constant(Tensor::of<int32_t>({2}, {2, 1})))),
              ElementsAre(4, 3));
  EXPECT_THAT(elements(unstack(shape_)[1]), ElementsAre(3));
}

TEST_F(ConstantValueTest, follows_joins_of_shapes) {
  const Output last = strided_slice(shape_, {-1}, {0}, {.shrink_axis_mask = 1});
  EXPECT_THAT(elements(stack({last, 7})), ElementsAre(4, 7));
  EXPECT_THAT(elements(concat({shape_, constant(Tensor::of<int32_t>({1}, {9}))}, 0)),
              ElementsAre(kNone, 3, 4, 9));
  EXPECT_THAT(elements(expand_dims(last, 0)), ElementsAre(4));
  EXPECT_THAT(elements(reshape(last, {1})), ElementsAre(4));
  EXPECT_THAT(elements(fill({2}, last)), ElementsAre(4, 4));
  EXPECT_THAT(elements(range(0, 3)), ElementsAre(0, 1, 2));
}

TEST_F(ConstantValueTest, computes_with_shapes) {
  EXPECT_THAT(elements(multiply(shape_, 2)), ElementsAre(kNone, 6, 8));
  EXPECT_THAT(elements(subtract(add(shape_, 1), shape_)), ElementsAre(kNone, 1, 1));
  EXPECT_THAT(elements(floordiv(constant(Tensor::of<int32_t>({2}, {7, -7})), 2)),
              ElementsAre(3, -4));
  EXPECT_THAT(elements(floormod(constant(Tensor::of<int32_t>({2}, {7, -7})), 2)),
              ElementsAre(1, 1));
  EXPECT_THAT(elements(maximum(shape_, 4)), ElementsAre(kNone, 4, 4));
  EXPECT_THAT(elements(reduce_prod(slice(shape_, {1}, {2}))), ElementsAre(12));
  EXPECT_THAT(elements(reduce_prod(shape_)), ElementsAre(kNone));
}

TEST_F(ConstantValueTest, looks_through_captures) {
  const auto function = Graph::make_function(*graph_);
  const GraphScope scope(*function);
  EXPECT_THAT(elements(add(shape_, 1)), ElementsAre(kNone, 4, 5));
}

TEST_F(ConstantValueTest, gives_up_on_graphs_that_would_take_for_ever) {
  Output doubled = constant(1);
  for (int i = 0; i < 64; ++i) doubled = doubled + doubled;
  EXPECT_FALSE(constant_value(doubled).has_value());
  Output counted = constant(0);
  for (int i = 1; i <= 30'000; ++i) {
    counted = counted + 1;
    if (i == 400) {
      EXPECT_EQ(constant_value(counted)->item<int32_t>(), 400);
    }
  }
  EXPECT_FALSE(constant_value(counted).has_value());
  Output joined = constant(Tensor::of<int32_t>({2}, {1, 2}));
  for (int i = 0; i < 12; ++i) joined = concat({joined, joined}, 0);
  EXPECT_FALSE(constant_value(joined).has_value());
}

TEST_F(ConstantValueTest, computes_with_the_least_number) {
  const Output least = constant(std::numeric_limits<int64_t>::min());
  const Output minus_one = constant(int64_t{-1});
  EXPECT_THAT(elements(floordiv(least, minus_one)),
              ElementsAre(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(elements(floormod(least, minus_one)), ElementsAre(0));
  const Output numbers = constant(Tensor::of<int64_t>({3}, {7, 8, 9}));
  const Output far =
      strided_slice(numbers, {1}, {3}, {.strides = {std::numeric_limits<int64_t>::max()}});
  EXPECT_EQ(far.shape(), (Shape{1}));
  EXPECT_THAT(elements(far), ElementsAre(8));
}

}  // namespace
}  // namespace systole
