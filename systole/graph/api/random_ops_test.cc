#include "systole/graph/api/random_ops.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/op_tester.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using graph_testing::MiniSession;
using ::testing::HasSubstr;

class RandomOpsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

constexpr int64_t kMany = 20000;

std::vector<double> sorted_values(const Output& output) {
  const Tensor tensor = evaluate(output);
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(tensor.as_double(i));
  std::sort(values.begin(), values.end());
  return values;
}

// The Kolmogorov-Smirnov distance of sorted values from a distribution function, times sqrt(n):
// above 1.95 in one of a thousand samples.
double ks_statistic(const std::vector<double>& values, const std::function<double(double)>& cdf) {
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    const auto rank = static_cast<double>(i);
    distance =
        std::max({distance, std::abs(rank / n - expected), std::abs((rank + 1) / n - expected)});
  }
  return distance * std::sqrt(n);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double truncated_cdf(double x) {
  return (normal_cdf(x) - normal_cdf(-2)) / (normal_cdf(2) - normal_cdf(-2));
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST_F(RandomOpsTest, uniform_floats_fill_their_range) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto values = sorted_values(random_uniform({kMany}, {.dtype = dtype, .seed = 1}));
    EXPECT_GE(values.front(), 0);
    EXPECT_LT(values.back(), 1);
    EXPECT_LT(ks_statistic(values, [](double x) { return x; }), 1.95);
  }
  const auto values =
      sorted_values(random_uniform({kMany}, {.minval = -3, .maxval = 5.0, .seed = 1}));
  EXPECT_LT(ks_statistic(values, [](double x) { return (x + 3) / 8; }), 1.95);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto narrow = sorted_values(random_uniform({kMany}, {.dtype = dtype, .seed = 1}));
    EXPECT_GE(narrow.front(), 0);
    EXPECT_LT(narrow.back(), 1);
    EXPECT_NEAR(mean(narrow), 0.5, 0.01);
  }
}

TEST_F(RandomOpsTest, uniform_floats_never_reach_the_upper_bound) {
  // 1 is the only float in [1, 1 + ulp), and half of all sums round to 1 + ulp.
  const float above = std::nextafter(1.0F, 2.0F);
  const Output x =
      random_uniform({kMany}, {.minval = 1.0, .maxval = Input(Tensor(above)), .seed = 1});
  EXPECT_EQ(sorted_values(x).back(), 1);
}

TEST_F(RandomOpsTest, normal_values_are_normal) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto values = sorted_values(random_normal({kMany}, {.dtype = dtype, .seed = 1}));
    EXPECT_LT(ks_statistic(values, normal_cdf), 1.95);
    EXPECT_GT(values.back(), 3.2);
  }
  const auto moved =
      sorted_values(random_normal({kMany}, {.mean = 10.0, .stddev = 0.5, .seed = 2}));
  EXPECT_LT(ks_statistic(moved, [](double x) { return normal_cdf((x - 10) / 0.5); }), 1.95);
  const auto half = sorted_values(random_normal({101, 3}, {.dtype = DType::bf16, .seed = 1}));
  EXPECT_EQ(half.size(), 303U);
  EXPECT_NEAR(mean(half), 0, 0.2);
}

TEST_F(RandomOpsTest, truncated_values_are_normal_within_two_deviations) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto values = sorted_values(truncated_normal({kMany}, {.dtype = dtype, .seed = 1}));
    EXPECT_GE(values.front(), -2);
    EXPECT_LE(values.back(), 2);
    EXPECT_LT(ks_statistic(values, truncated_cdf), 1.95);
  }
  const auto moved =
      sorted_values(truncated_normal({kMany}, {.mean = 1.0, .stddev = 3.0, .seed = 1}));
  EXPECT_GE(moved.front(), -5);
  EXPECT_LE(moved.back(), 7);
}

TEST_F(RandomOpsTest, integers_are_uniform_in_their_range) {
  for (const DType dtype : {DType::s32, DType::s64, DType::u8, DType::s16}) {
    const Tensor value =
        evaluate(random_uniform({kMany}, {.minval = 3, .maxval = 10, .dtype = dtype, .seed = 4}));
    std::vector<int> counts(16);
    for (int64_t i = 0; i < kMany; ++i) ++counts[static_cast<size_t>(value.as_double(i))];
    for (size_t k = 0; k < counts.size(); ++k) {
      if (k < 3 || k >= 10) {
        EXPECT_EQ(counts[k], 0) << k;
      } else {
        EXPECT_NEAR(counts[k], kMany / 7.0, 5 * std::sqrt(kMany / 7.0)) << k;
      }
    }
  }
}

TEST_F(RandomOpsTest, integers_may_range_over_everything) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  const Tensor wide = evaluate(random_uniform(
      {kMany}, {.minval = kLowest, .maxval = Input(kHighest), .dtype = DType::s64, .seed = 1}));
  int64_t negative = 0;
  for (const int64_t x : wide.data<int64_t>()) negative += x < 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(negative), kMany / 2.0, 400);
  const Tensor signed32 = evaluate(
      random_uniform({kMany}, {.minval = -2000000000, .maxval = 2000000000, .dtype = DType::s32}));
  negative = 0;
  for (const int32_t x : signed32.data<int32_t>()) negative += x < 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(negative), kMany / 2.0, 400);
}

TEST_F(RandomOpsTest, bad_arguments_are_errors) {
  EXPECT_EQ(error_of([] { random_uniform({2}, {.dtype = DType::s32}); }),
            "INVALID_ARGUMENT: random_uniform: maxval, got none, expected one for s32");
  EXPECT_THAT(
      error_of([] { random_uniform({2}, {.minval = 5, .maxval = 5, .dtype = DType::s32}); }),
      HasSubstr("minval and maxval, got s32[] 5 and s32[] 5, expected minval < maxval"));
  EXPECT_EQ(evaluate(random_uniform({0}, {.maxval = 0, .dtype = DType::s32})).num_elements(), 0);
  const Output computed = cast(reduce_sum(random_uniform({1})) * 0.0F, DType::s32);
  EXPECT_THAT(
      error_of([&] { evaluate(random_uniform({2}, {.maxval = computed, .dtype = DType::s32})); }),
      HasSubstr("got minval >= maxval, expected minval < maxval"));
  EXPECT_THAT(error_of([] { random_normal({2}, {.dtype = DType::s32}); }),
              HasSubstr("RandomStandardNormal: dtype, got s32, expected a floating one"));
  EXPECT_THAT(error_of([] { multinomial(constant(1.0F), 3); }),
              HasSubstr("Multinomial: logits, got f32[], expected a floating matrix"));
  EXPECT_THAT(error_of([] { random_shuffle(1.0F); }),
              HasSubstr("RandomShuffle: value, got a scalar"));
}

TEST_F(RandomOpsTest, shapes_may_be_those_of_fed_values) {
  const Output x = placeholder("float", {kUnknown, 3}, "x");
  const Output noise = random_normal(shape(x));
  EXPECT_EQ(noise.shape(), (Shape{kUnknown, 3}));
  EXPECT_EQ(evaluate(noise, {{x, Tensor::zeros(DType::f32, {5, 3})}}).shape(), (Shape{5, 3}));
}

TEST_F(RandomOpsTest, seeds_repeat_sequences_and_runs_go_on_in_them) {
  set_random_seed(42);
  const Output x = random_uniform({4});
  const Output y = random_uniform({4});
  MiniSession a(1);
  MiniSession b(2);
  const auto first = a.run({x, y});
  const auto second = a.run({x, y});
  EXPECT_TRUE(b.run({x, y})[0].identical(first[0]));
  EXPECT_TRUE(b.run({x, y})[1].identical(second[1]));
  EXPECT_FALSE(first[0].identical(second[0]));
  EXPECT_FALSE(first[0].identical(first[1]));
}

TEST_F(RandomOpsTest, without_seeds_every_session_differs) {
  const Output x = random_uniform({4});
  const Output y = random_uniform({4});
  MiniSession a(1);
  MiniSession b(2);
  const auto values = a.run({x, y});
  EXPECT_FALSE(values[0].identical(values[1]));
  EXPECT_FALSE(values[0].identical(b.run(x)));
}

TEST_F(RandomOpsTest, equal_seeds_give_equal_programs_in_other_graphs) {
  const auto draw = [] {
    Graph graph;
    const GraphScope scope(graph);
    set_random_seed(1);
    return evaluate(random_normal({8}));
  };
  EXPECT_TRUE(draw().identical(draw()));
}

TEST_F(RandomOpsTest, moments_and_bounds_have_gradients) {
  const Output mean = constant(1.0F);
  const Output stddev = constant(2.0F);
  const Output x = random_normal({1000}, {.mean = mean, .stddev = stddev, .seed = 1});
  const auto found = gradients({x}, {mean, stddev});
  const auto values = evaluate({x, found[0], found[1]});
  EXPECT_FLOAT_EQ(values[1].item<float>(), 1000);
  double sum = 0;
  for (const float value : values[0].data<float>()) sum += (value - 1) / 2;
  EXPECT_NEAR(values[2].item<float>(), sum, 1e-2);
}

TEST_F(RandomOpsTest, multinomial_draws_classes_by_their_logits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Output logits = constant(Tensor::of<float>(
      {2, 4}, {std::log(0.1F), std::log(0.2F), -infinity, std::log(0.7F), 5, 5, 5, 5}));
  const Tensor drawn = evaluate(multinomial(logits, static_cast<int>(kMany), {.seed = 1}));
  EXPECT_EQ(drawn.type(), (TensorType{DType::s64, {2, kMany}}));
  const double expected[2][4] = {{0.1, 0.2, 0, 0.7}, {0.25, 0.25, 0.25, 0.25}};
  for (int64_t row = 0; row < 2; ++row) {
    double counts[4] = {};
    for (int64_t i = 0; i < kMany; ++i) {
      ++counts[static_cast<size_t>(drawn.data<int64_t>()[row * kMany + i])];
    }
    for (int k = 0; k < 4; ++k) {
      const double p = expected[row][k];
      EXPECT_NEAR(counts[k] / kMany, p, 5 * std::sqrt(p * (1 - p) / kMany)) << row << " " << k;
    }
  }
}

TEST_F(RandomOpsTest, random_shuffle_permutes_rows) {
  Tensor rows(DType::s32, {100, 2});
  std::iota(rows.data<int32_t>().begin(), rows.data<int32_t>().end(), 0);
  const Tensor shuffled = evaluate(random_shuffle(rows, {.seed = 1}));
  std::vector<int32_t> firsts;
  for (int64_t i = 0; i < 100; ++i) {
    const auto row = shuffled.slice(i, i + 1).reshape({2});
    EXPECT_EQ(row.data<int32_t>()[1], row.data<int32_t>()[0] + 1);
    firsts.push_back(row.data<int32_t>()[0]);
  }
  EXPECT_FALSE(std::ranges::is_sorted(firsts));
  std::ranges::sort(firsts);
  for (int32_t i = 0; i < 100; ++i) EXPECT_EQ(firsts[i], 2 * i);
}

}  // namespace
}  // namespace systole
