#include "systole/keras/layers/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/keras/testing/layer_checks.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

struct MeanAndVariance {
  double mean = 0;
  double variance = 0;
};

MeanAndVariance mean_and_variance(const Tensor& t) {
  MeanAndVariance m;
  const auto n = static_cast<double>(t.num_elements());
  for (int64_t i = 0; i < t.num_elements(); ++i) m.mean += t.as_double(i) / n;
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    m.variance += std::pow(t.as_double(i) - m.mean, 2) / n;
  }
  return m;
}

TEST(NoiseTest, NothingChangesOutsideTraining) {
  const Tensor x = normal_array({8, 4}, 1);
  for (const Layer& layer : std::vector<Layer>{
           layers::GaussianNoise(2), layers::GaussianDropout(0.5), layers::AlphaDropout(0.5)}) {
    EXPECT_TRUE(result_of(layer, x).identical(x)) << layer.class_name();
    EXPECT_FALSE(result_of(layer, x, /*training=*/true).identical(x)) << layer.class_name();
    expect_json_round_trip(layer, x);
  }
}

TEST(NoiseTest, GaussianNoiseAddsItsDeviation) {
  const Tensor x = Tensor::full(DType::f32, {200, 200}, 3);
  const MeanAndVariance m =
      mean_and_variance(result_of(layers::GaussianNoise(0.5, {.seed = 1}), x, true));
  EXPECT_NEAR(m.mean, 3, 0.015);
  EXPECT_NEAR(m.variance, 0.25, 0.01);
}

TEST(NoiseTest, GaussianDropoutScalesByItsDeviation) {
  const Tensor x = Tensor::full(DType::f32, {200, 200}, 2);
  const MeanAndVariance m =
      mean_and_variance(result_of(layers::GaussianDropout(0.2, {.seed = 1}), x, true));
  EXPECT_NEAR(m.mean, 2, 0.03);
  EXPECT_NEAR(m.variance, 4 * 0.2 / 0.8, 0.04);
}

TEST(NoiseTest, AlphaDropoutKeepsMeanAndVariance) {
  const Tensor x = normal_array({200, 200}, 2);
  const Tensor y = result_of(layers::AlphaDropout(0.3, {.seed = 1}), x, true);
  const MeanAndVariance m = mean_and_variance(y);
  EXPECT_NEAR(m.mean, 0, 0.03);
  EXPECT_NEAR(m.variance, 1, 0.04);
  // Elements are a x + b or a alpha' + b.
  const double dropped = -1.7580993408473766;
  const double a = 1 / std::sqrt(0.7 * (1 + 0.3 * dropped * dropped));
  const double b = -a * dropped * 0.3;
  int64_t drops = 0;
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const bool is_dropped = std::abs(y.as_double(i) - (a * dropped + b)) < 1e-5;
    drops += is_dropped ? 1 : 0;
    if (!is_dropped) {
      ASSERT_NEAR(y.as_double(i), a * x.as_double(i) + b, 1e-5);
    }
  }
  EXPECT_NEAR(static_cast<double>(drops) / 40000, 0.3, 0.01);
}

TEST(NoiseTest, NoiseShapeSharesDraws) {
  const Tensor x = Tensor::full(DType::f32, {4, 50, 3}, 1);
  const Tensor y = result_of(
      layers::AlphaDropout(0.5, {.noise_shape = std::vector<int64_t>{-1, 1, 3}, .seed = 2}), x,
      true);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    EXPECT_EQ(y.as_double(i), y.as_double(i / 150 * 150 + i % 3));
  }
}

TEST(NoiseTest, RefuseWhatIsNoRate) {
  EXPECT_THAT(error_of([] { layers::GaussianNoise(-1); }), HasSubstr("stddev, got -1"));
  EXPECT_THAT(error_of([] { layers::GaussianDropout(1); }), HasSubstr("rate, got 1"));
  EXPECT_THAT(error_of([] { layers::AlphaDropout(-0.5); }), HasSubstr("rate, got -0.5"));
}

}  // namespace
}  // namespace systole::keras
