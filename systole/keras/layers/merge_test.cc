#include "systole/keras/layers/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/testing/layer_checks.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

struct ElementwiseCase {
  Layer layer;
  std::function<double(double, double, double)> value;
};

TEST(MergeTest, ElementwiseLayersBroadcast) {
  const std::vector<ElementwiseCase> rows = {
      {layers::Add(), [](double a, double b, double c) { return a + b + c; }},
      {layers::Multiply(), [](double a, double b, double c) { return a * b * c; }},
      {layers::Average(), [](double a, double b, double c) { return (a + b + c) / 3; }},
      {layers::Maximum(), [](double a, double b, double c) { return std::max(std::max(a, b), c); }},
      {layers::Minimum(),
       [](double a, double b, double c) { return std::min(std::min(a, b), c); }}};
  // [2, 3, 4] with [2, 1, 4] and, of lower rank, [2, 4], which becomes [2, 1, 4].
  const Tensor a = normal_array({2, 3, 4}, 1);
  const Tensor b = normal_array({2, 1, 4}, 2);
  const Tensor c = normal_array({2, 4}, 3);
  for (const ElementwiseCase& row : rows) {
    SCOPED_TRACE(row.layer.class_name());
    std::vector<double> expected;
    for (int64_t i = 0; i < 24; ++i) {
      const int64_t narrow = i / 12 * 4 + i % 4;
      expected.push_back(row.value(a.as_double(i), b.as_double(narrow), c.as_double(narrow)));
    }
    expect_all_near(result_of(row.layer, {a, b, c}), expected, 1e-6);
    expect_json_round_trip(row.layer, {a, b, c});
  }
}

TEST(MergeTest, SubtractTakesTwo) {
  const Tensor a = normal_array({2, 3}, 4);
  const Tensor b = normal_array({2, 3}, 5);
  std::vector<double> expected;
  for (int64_t i = 0; i < 6; ++i) expected.push_back(a.as_double(i) - b.as_double(i));
  expect_all_near(result_of(layers::Subtract(), {a, b}), expected, 1e-6);
  expect_json_round_trip(layers::Subtract(), {a, b});
  const KerasTensor x = Input({3});
  EXPECT_THAT(error_of([&] {
                layers::subtract({x, x, x});
              }),
              HasSubstr("should be called on exactly 2 inputs"));
}

TEST(MergeTest, ConcatenateJoinsAlongAnAxis) {
  const Tensor a = Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4});
  const Tensor b = Tensor::of<float>({1, 2, 2}, {5, 6, 7, 8});
  expect_all_near(result_of(layers::Concatenate(), {a, b}), {1, 2, 5, 6, 3, 4, 7, 8}, 0);
  expect_all_near(result_of(layers::Concatenate(1), {a, b}), {1, 2, 3, 4, 5, 6, 7, 8}, 0);
  expect_json_round_trip(layers::Concatenate(-2), {a, b});
  EXPECT_THAT(error_of([] {
                layers::concatenate({Input({3, 2}), Input({4, 3})});
              }),
              HasSubstr("Got inputs shapes: [(None, 3, 2), (None, 4, 3)]"));
}

struct DotCase {
  Shape a;
  Shape b;
  AxisList axes;
  int axis_a;
  int axis_b;
};

// Sums over one axis of each, for rank 3; a matrix counts as rank 3 with an axis of size 1.
std::vector<double> dot_reference(const Tensor& a, int axis_a, const Tensor& b, int axis_b) {
  const auto size = [](const Tensor& t, int axis) { return axis < t.rank() ? t.dim(axis) : 1; };
  const auto at = [&](const Tensor& t, int64_t n, int64_t i, int64_t j) {
    return t.as_double((n * size(t, 1) + i) * size(t, 2) + j);
  };
  std::vector<double> result;
  for (int64_t n = 0; n < a.dim(0); ++n) {
    for (int64_t i = 0; i < size(a, 3 - axis_a); ++i) {
      for (int64_t j = 0; j < size(b, 3 - axis_b); ++j) {
        double sum = 0;
        for (int64_t k = 0; k < size(a, axis_a); ++k) {
          sum += (axis_a == 1 ? at(a, n, k, i) : at(a, n, i, k)) *
                 (axis_b == 1 ? at(b, n, k, j) : at(b, n, j, k));
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

TEST(MergeTest, DotSumsOverOneAxisOfEach) {
  const std::vector<DotCase> rows = {{{3, 4}, {3, 4}, 1, 1, 1},
                                     {{2, 3, 4}, {2, 5, 4}, -1, 2, 2},
                                     {{2, 3, 4}, {2, 4, 5}, {2, 1}, 2, 1},
                                     {{2, 4, 3}, {2, 4}, 1, 1, 1}};
  for (const DotCase& row : rows) {
    SCOPED_TRACE(sizes_text(row.a) + sizes_text(row.b));
    const Tensor a = normal_array(row.a, 6);
    const Tensor b = normal_array(row.b, 7);
    const layers::Dot layer(row.axes);
    expect_all_near(result_of(layer, {a, b}), dot_reference(a, row.axis_a, b, row.axis_b), 1e-5);
    expect_json_round_trip(layer, {a, b});
  }
  EXPECT_EQ(layers::dot({Input({4}), Input({4})}, 1).shape(), (Shape{-1, 1}));
  EXPECT_THAT(error_of([] {
                layers::dot({Input({4}), Input({5})}, 1);
              }),
              HasSubstr("Dimension incompatibility 4 != 5. Layer shapes: (None, 4), (None, 5)"));
}

TEST(MergeTest, DotOfNormalizedVectorsIsTheirCosine) {
  const Tensor a = normal_array({3, 4}, 8);
  const Tensor b = normal_array({3, 4}, 9);
  std::vector<double> expected;
  for (int64_t n = 0; n < 3; ++n) {
    double product = 0;
    double length_a = 0;
    double length_b = 0;
    for (int64_t k = n * 4; k < n * 4 + 4; ++k) {
      product += a.as_double(k) * b.as_double(k);
      length_a += a.as_double(k) * a.as_double(k);
      length_b += b.as_double(k) * b.as_double(k);
    }
    expected.push_back(product / std::sqrt(length_a * length_b));
  }
  expect_all_near(result_of(layers::Dot(1, {.normalize = true}), {a, b}), expected, 1e-5);
}

TEST(MergeTest, DotHasItsGradients) {
  const Tensor x = normal_array({3, 2, 3}, 10);
  for (const bool normalize : {false, true}) {
    const KerasTensor input = input_like(x);
    const KerasTensors a = layers::Dense(2)(input);
    const KerasTensors b = layers::Dense(2)(input);
    const Model model(input, layers::dot({a, b}, {1, 2}, {.normalize = normalize}));
    expect_gradients(model, {x}, normal_array({3, 2, 2}, 11));
  }
}

// Adds 10 where the mask of its input holds.
class ShowMask : public LayerDefinition {
 public:
  std::string class_name() const override { return "ShowMask"; }
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output mask = context.mask(inputs.at(0));
    return {mask.valid() ? cast(mask, DType::f32) * 10.0F
                         : reduce_sum(inputs.at(0), {.axis = -1}) * 0.0F - 1.0F};
  }
};

std::vector<double> mask_after(const Layer& merge) {
  const KerasTensor a = Input({3, 1});
  const KerasTensor b = Input({3, 1});
  const auto show = std::make_shared<ShowMask>();
  show->set_name("show");
  const layers::Masking masking(0.0);
  const Model model({a, b}, Layer(show)(merge({masking(a), masking(b)})));
  const Tensor result = model.predict(std::vector<Tensor>{Tensor::of<float>({1, 3, 1}, {0, 1, 1}),
                                                          Tensor::of<float>({1, 3, 1}, {1, 1, 0})});
  std::vector<double> values;
  for (int64_t i = 0; i < result.num_elements(); ++i) values.push_back(result.as_double(i));
  return values;
}

TEST(MergeTest, MasksAreCombined) {
  EXPECT_EQ(mask_after(layers::Add()), (std::vector<double>{0, 10, 0}));
  EXPECT_EQ(mask_after(layers::Concatenate()), (std::vector<double>{0, 10, 0}));
  EXPECT_EQ(mask_after(layers::Concatenate(1)), (std::vector<double>{0, 10, 10, 10, 10, 0}));
  EXPECT_EQ(mask_after(layers::Dot(2)), (std::vector<double>{-1, -1, -1}));
}

TEST(MergeTest, ConcatenateTakesAnInputWithoutMaskAsNotMasked) {
  const KerasTensor a = Input({2, 1});
  const auto show = std::make_shared<ShowMask>();
  show->set_name("show");
  const Model model(a, Layer(show)(layers::concatenate({layers::Masking(0.0)(a), a}, 1)));
  expect_all_near(model.predict(Tensor::of<float>({1, 2, 1}, {0, 1})), {0, 10, 10, 10}, 0);
}

TEST(MergeTest, RefuseWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { layers::add(KerasTensors(Input({3}))); }),
              HasSubstr("A merge layer should be called on a list of inputs."));
  EXPECT_THAT(
      error_of([] {
        layers::add({Input({3}), Input({4})});
      }),
      HasSubstr("Operands could not be broadcast together with shapes (None, 3) (None, 4)"));
  EXPECT_THAT(error_of([] {
                layers::add({Input({3}, {.batch_size = 2}), Input({3}, {.batch_size = 4})});
              }),
              HasSubstr("Can not merge tensors with different batch sizes."));
}

}  // namespace
}  // namespace systole::keras
