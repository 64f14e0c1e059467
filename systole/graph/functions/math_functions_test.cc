#include "systole/graph/functions/math_functions.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/gradients/gradients.h"
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

TEST_F(MathFunctionsTest, Linspace) {
  EXPECT_THAT(evaluate(linspace(10.0F, 13.0F, 3)).data<float>(), ElementsAre(10, 11.5F, 13));
  EXPECT_THAT(evaluate(linspace(2.0F, 5.0F, 1)).data<float>(), ElementsAre(2));
  EXPECT_THAT(error_of([] { linspace(0.0F, 1.0F, 0); }),
              HasSubstr("linspace: num, got 0, expected at least 1"));
}

TEST_F(MathFunctionsTest, Div) {
  const Output whole = constant(Tensor::of<int32_t>({2}, {7, -7}));
  EXPECT_THAT(evaluate(div(whole, 2)).data<int32_t>(), ElementsAre(3, -4));
  EXPECT_THAT(evaluate(div(x_, 2)).data<float>(), ElementsAre(1.5F, -2, 0, 0));
  const Output y = constant(Tensor::of<float>({2, 2}, {2, 0, 0, 1}));
  EXPECT_THAT(evaluate(div_no_nan(x_, y)).data<float>(), ElementsAre(1.5F, 0, 0, 0));
  const auto by = gradients({div_no_nan(x_, y)}, {x_, y});
  EXPECT_THAT(evaluate(by[0]).data<float>(), ElementsAre(0.5F, 0, 0, 1));
  EXPECT_THAT(evaluate(by[1]).data<float>(), ElementsAre(-0.75F, 0, 0, 0));
  EXPECT_THAT(error_of([&] { div_no_nan(whole, 2); }), HasSubstr("div_no_nan: y, got s32"));
}

TEST_F(MathFunctionsTest, ConfusionMatrix) {
  const Output labels = constant(Tensor::of<int32_t>({4}, {0, 1, 1, 1}));
  const Output predictions = constant(Tensor::of<int32_t>({4}, {0, 1, 0, 1}));
  const ConfusionMatrixOptions options{
      .labels = labels, .predictions = predictions, .num_classes = 2};
  EXPECT_THAT(evaluate(confusion_matrix(options)).data<int32_t>(), ElementsAre(1, 0, 1, 2));
  ConfusionMatrixOptions weighted = options;
  weighted.dtype = DType::f32;
  weighted.weights = constant(Tensor::of<float>({4}, {1, 2, 3, 0.5F}));
  EXPECT_THAT(evaluate(confusion_matrix(weighted)).data<float>(), ElementsAre(1, 0, 3, 2.5F));
  ConfusionMatrixOptions wide = options;
  wide.dtype = DType::f64;
  wide.weights = constant(Tensor::of<double>({4}, {1 + 1e-12, 2, 0, 0}));
  EXPECT_EQ(evaluate(confusion_matrix(wide)).data<double>()[0], 1 + 1e-12);
  // What has no weight spoils no other label.
  weighted.weights = constant(Tensor::of<float>({4}, {std::nanf(""), 2, 3, 4}));
  const Tensor spoilt = evaluate(confusion_matrix(weighted));
  EXPECT_TRUE(std::isnan(spoilt.as_double(0)));
  EXPECT_EQ(spoilt.as_double(2), 3);
  EXPECT_EQ(spoilt.as_double(3), 6);
  weighted.weights = ones({1});
  EXPECT_THAT(error_of([&] { confusion_matrix(weighted); }),
              HasSubstr("confusion_matrix: weights, got f32[1], expected one for each of labels "
                        "s32[4], at math_functions_test.cc"));
  EXPECT_THAT(
      error_of([&] { confusion_matrix({.labels = labels, .predictions = x_, .num_classes = 2}); }),
      HasSubstr("confusion_matrix: labels and predictions, got s32[4] and f32[2,2], "
                "expected integers of one shape, at math_functions_test.cc"));
}

}  // namespace
}  // namespace systole
