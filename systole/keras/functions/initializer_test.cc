#include "systole/keras/functions/initializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/keras/base/fields.h"
#include "systole/keras/testing/layer_checks.h"
#include "systole/keras/testing/value_of.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

Tensor initial_array(const InitializerSpec& initializer, const Shape& shape) {
  return value_of([&] { return initializer.for_weight()(shape, DType::f32); });
}

// A truncated normal distribution has this part of its parameter's deviation.
constexpr double kTruncated = 0.87962566103423978;

struct DistributionCase {
  std::string name;
  InitializerSpec initializer;
  double mean;
  double stddev;
  double bound;  // no value is farther from the mean
};

// Returns cases for a matrix [300, 200].
std::vector<DistributionCase> distribution_cases() {
  const auto scaled = [](double scale, double fan) { return std::sqrt(scale / fan); };
  const double avg = scaled(1, 250);
  const double in = scaled(1, 300);
  const double he = scaled(2, 300);
  const double out = scaled(3, 200);
  const double root_3 = std::sqrt(3.0);
  const double none = INFINITY;
  using namespace initializers;  // NOLINT(google-build-using-namespace): a table of their names
  return {
      {"random_normal", "random_normal", 0, 0.05, none},
      {"normal", "normal", 0, 0.05, none},
      {"RandomNormal", RandomNormal({.mean = 2, .stddev = 3, .seed = 4}), 2, 3, none},
      {"truncated_normal", "truncated_normal", 0, 0.05 * kTruncated, 0.1},
      {"TruncatedNormal", TruncatedNormal({.mean = 1, .stddev = 2}), 1, 2 * kTruncated, 4},
      {"uniform", "uniform", 0, 0.05 / root_3, 0.05},
      {"random_uniform", "random_uniform", 0, 0.05 / root_3, 0.05},
      {"RandomUniform", RandomUniform({.minval = 1, .maxval = 3}), 2, 1 / root_3, 1},
      {"glorot_uniform", "glorot_uniform", 0, avg, avg * root_3},
      {"glorot_normal", "glorot_normal", 0, avg, 2 * avg / kTruncated},
      {"he_uniform", "he_uniform", 0, he, he * root_3},
      {"he_normal", "he_normal", 0, he, 2 * he / kTruncated},
      {"lecun_uniform", "lecun_uniform", 0, in, in * root_3},
      {"lecun_normal", "lecun_normal", 0, in, 2 * in / kTruncated},
      {"VarianceScaling",
       VarianceScaling({.scale = 3, .mode = "fan_out", .distribution = "uniform"}), 0, out,
       out * root_3},
      {"untruncated",
       VarianceScaling({.scale = 3, .mode = "fan_out", .distribution = "untruncated_normal"}), 0,
       out, none},
  };
}

TEST(InitializerTest, DrawFromTheirDistributions) {
  constexpr double kCount = 300 * 200;
  for (const DistributionCase& row : distribution_cases()) {
    SCOPED_TRACE(row.name);
    const Tensor t = initial_array(row.initializer, {300, 200});
    double mean = 0;
    double variance = 0;
    double farthest = 0;
    for (int64_t i = 0; i < t.num_elements(); ++i) mean += t.as_double(i) / kCount;
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      variance += std::pow(t.as_double(i) - mean, 2) / kCount;
      farthest = std::max(farthest, std::abs(t.as_double(i) - row.mean));
    }
    // Five standard errors.
    EXPECT_NEAR(mean, row.mean, 5 * row.stddev / std::sqrt(kCount));
    EXPECT_NEAR(std::sqrt(variance) / row.stddev, 1, 5 / std::sqrt(2 * kCount));
    EXPECT_LE(farthest, row.bound * 1.00001);
    // The distribution reaches its ends.
    EXPECT_GT(farthest, std::isinf(row.bound) ? 3.5 * row.stddev : 0.99 * row.bound);
  }
}

// Kernels [height, width, in, out] have fans of height * width * in and height * width * out.
TEST(InitializerTest, FansOfKernels) {
  const auto largest = [](const Shape& shape) {
    const Tensor t =
        initial_array(initializers::VarianceScaling(
                          {.scale = 1, .mode = "fan_in", .distribution = "uniform", .seed = 1}),
                      shape);
    double found = 0;
    for (int64_t i = 0; i < t.num_elements(); ++i)
      found = std::max(found, std::abs(t.as_double(i)));
    return found;
  };
  EXPECT_NEAR(largest({3, 5, 7, 200}), std::sqrt(3.0 / (3 * 5 * 7)), 1e-3);
  EXPECT_NEAR(largest({2000}), std::sqrt(3.0 / 2000), 1e-3);
}

TEST(InitializerTest, ConstantsAndIdentity) {
  for (const char* name : {"zeros", "zero", "Zeros"}) {
    expect_all_near(initial_array(name, {2}), {0, 0}, 0);
  }
  for (const char* name : {"ones", "one", "Ones"}) {
    expect_all_near(initial_array(name, {2}), {1, 1}, 0);
  }
  expect_all_near(initial_array("constant", {2}), {0, 0}, 0);
  expect_all_near(initial_array(initializers::Constant(2.5), {2}), {2.5, 2.5}, 0);
  expect_all_near(initial_array(initializers::Identity(3), {2, 3}), {3, 0, 0, 0, 3, 0}, 0);
  EXPECT_THAT(error_of([] { initial_array("identity", {2}); }),
              HasSubstr("Identity matrix initializer can only be used for 2D matrices"));
}

TEST(InitializerTest, OrthogonalMatricesAreOrthonormal) {
  for (const Shape& shape : {Shape{8, 5}, Shape{5, 8}, Shape{2, 3, 4}}) {
    const Tensor t = initial_array(initializers::Orthogonal({.gain = 2, .seed = 3}), shape);
    const int64_t columns = shape[shape.rank() - 1];
    const int64_t rows = shape.num_elements() / columns;
    const bool tall = rows >= columns;
    const int64_t vectors = tall ? columns : rows;
    const int64_t length = tall ? rows : columns;
    for (int64_t a = 0; a < vectors; ++a) {
      for (int64_t b = 0; b <= a; ++b) {
        double product = 0;
        for (int64_t k = 0; k < length; ++k) {
          product += t.as_double(tall ? k * columns + a : a * columns + k) *
                     t.as_double(tall ? k * columns + b : b * columns + k);
        }
        EXPECT_NEAR(product, a == b ? 4 : 0, 1e-5);
      }
    }
  }
}

// The classes without a distribution have tests of their own above.
TEST(InitializerTest, EveryClassHasARow) {
  std::set<std::string> tested = {"Zeros", "Ones", "Constant", "Identity", "Orthogonal"};
  for (const DistributionCase& row : distribution_cases()) {
    tested.insert(row.initializer.object().class_name);
  }
  for (const ClassDoc& known : JsonType<InitializerSpec>::classes()) {
    if (!known.arguments) continue;  // a program's
    EXPECT_TRUE(tested.contains(known.name)) << known.name;
  }
}

TEST(InitializerTest, SeedsRepeat) {
  const InitializerSpec seeded = initializers::glorot_uniform({.seed = 5});
  EXPECT_TRUE(initial_array(seeded, {3, 3}).identical(initial_array(seeded, {3, 3})));
  EXPECT_FALSE(
      initial_array("glorot_uniform", {3, 3}).identical(initial_array("glorot_uniform", {3, 3})));
}

TEST(InitializerTest, ConfigurationsOfBothKerasAreRead) {
  using Type = JsonType<InitializerSpec>;
  const Json tf = {{"class_name", "GlorotUniform"},
                   {"config", {{"seed", nullptr}, {"dtype", "float32"}}}};
  EXPECT_EQ(Type::from_json(tf).object().class_name, "GlorotUniform");
  const Json keras = {
      {"class_name", "VarianceScaling"},
      {"config", {{"scale", 1.0}, {"mode", "fan_avg"}, {"distribution", "uniform"}, {"seed", 7}}}};
  EXPECT_EQ(Type::to_json(Type::from_json(keras)), keras);
  EXPECT_TRUE(initial_array(Type::from_json(keras), {4, 4})
                  .identical(initial_array(initializers::glorot_uniform({.seed = 7}), {4, 4})));
  EXPECT_THAT(error_of([] { InitializerSpec("glorot_unifrm"); }),
              HasSubstr("Unknown initializer: glorot_unifrm, did you mean 'glorot_uniform'?"));
  EXPECT_THAT(error_of([] { initializers::VarianceScaling({.mode = "fan"}); }),
              HasSubstr("Invalid `mode` argument: fan"));
}

TEST(InitializerTest, ProgramsRegisterInitializers) {
  register_initializer("TestSevens", [](const Json&) { return constant_initializer(7.0F); });
  expect_all_near(initial_array("TestSevens", {2}), {7, 7}, 0);
}

}  // namespace
}  // namespace systole::keras
