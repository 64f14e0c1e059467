#include "systole/graph/math_functions.h"

#include <gmock/gmock.h>

#include <limits>

#include "systole/graph/array_ops.h"
#include "systole/graph/gradients.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

class MathFunctionsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Output x_ = constant(Tensor::of<float>({2, 2}, {3, -4, 0, 0}));
};

TEST_F(MathFunctionsTest, Norms) {
  EXPECT_EQ(evaluate(norm(x_)).item<float>(), 5);
  EXPECT_EQ(evaluate(norm(x_, {.ord = 1})).item<float>(), 7);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(evaluate(norm(x_, {.ord = kInfinity, .axis = 0})).data<float>(), ElementsAre(3, 4));
  EXPECT_THAT(evaluate(norm(x_, {.ord = 3, .axis = 1})).data<float>(),
              ElementsAre(FloatEq(4.497941F), 0));
  EXPECT_EQ(norm(x_, {.axis = 1, .keepdims = true}).shape(), Shape({2, 1}));
  const Output rows = norm(x_, {.axis = 1});
  EXPECT_THAT(evaluate(gradients({rows}, {x_})[0]).data<float>(),
              ElementsAre(FloatEq(0.6F), FloatEq(-0.8F), 0, 0));
  EXPECT_THAT(error_of([&] { norm(x_, {.ord = 0}); }),
              HasSubstr("norm: ord, got 0, expected a number above 0, at math_functions_test.cc"));
  EXPECT_EQ(evaluate(norm(x_, {.axis = {0, 1}})).item<float>(), 5);
  for (const double ord : {1.0, kInfinity}) {
    EXPECT_THAT(error_of([&] {
                  norm(x_, {.ord = ord, .axis = {0, 1}});
                }),
                HasSubstr("UNIMPLEMENTED: norm: ord over several axes, got "));
  }
}

TEST_F(MathFunctionsTest, CountNonzero) {
  EXPECT_EQ(evaluate(count_nonzero(x_)).item<int64_t>(), 2);
  EXPECT_THAT(
      evaluate(count_nonzero(greater(x_, 0), {.axis = 1, .dtype = DType::s32})).data<int32_t>(),
      ElementsAre(1, 0));
}

TEST_F(MathFunctionsTest, Eye) {
  EXPECT_THAT(evaluate(eye(2)).data<float>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(evaluate(eye(1, {.num_columns = 3, .dtype = DType::s32})).data<int32_t>(),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(error_of([] { eye(-1); }),
              HasSubstr("eye: sizes, got -1 and -1, expected 0 or more, at "
                        "math_functions_test.cc"));
}

TEST_F(MathFunctionsTest, Linspace) {
  EXPECT_THAT(evaluate(linspace(10.0F, 13.0F, 3)).data<float>(), ElementsAre(10, 11.5F, 13));
  EXPECT_THAT(evaluate(linspace(2.0F, 5.0F, 1)).data<float>(), ElementsAre(2));
  EXPECT_THAT(error_of([] { linspace(0.0F, 1.0F, 0); }),
              HasSubstr("linspace: num, got 0, expected at least 1"));
}

TEST_F(MathFunctionsTest, SequenceMask) {
  const Output lengths = constant(Tensor::of<int32_t>({3}, {0, 2, 5}));
  EXPECT_THAT(evaluate(sequence_mask(lengths, 3)).data<bool>(),
              ElementsAre(false, false, false, true, true, false, true, true, true));
  EXPECT_EQ(sequence_mask(lengths, 3, {.dtype = DType::f32}).type(),
            (TensorType{DType::f32, {3, 3}}));
  EXPECT_THAT(error_of([&] { sequence_mask(x_, 3); }),
              HasSubstr("sequence_mask: lengths, got f32[2,2], expected integers"));
  EXPECT_THAT(error_of([&] { sequence_mask(lengths, -1); }),
              HasSubstr("sequence_mask: maxlen, got -1, expected 0 or more"));
  const Output narrow = constant(Tensor::of<uint8_t>({1}, {2}));
  EXPECT_EQ(evaluate(count_nonzero(sequence_mask(narrow, 300))).item<int64_t>(), 2);
}

}  // namespace
}  // namespace systole
