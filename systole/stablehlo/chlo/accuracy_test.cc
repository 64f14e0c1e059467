// Errors of the real formulas against long double, over ranges where they change course and over
// all magnitudes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "systole/stablehlo/chlo/testing/references.h"
#include "systole/stablehlo/chlo/testing/run_expansion.h"
#include "systole/stablehlo/chlo/testing/ulp.h"

namespace systole::hlo::chlo {
namespace {

using testing::bessel_i1e;
using testing::digamma;
using testing::erf_inv;
using testing::Real;
using testing::run;
using testing::ulp_error;

constexpr double kInf = std::numeric_limits<double>::infinity();

// -- Where to look

// `count` points spread evenly, but not on a grid.
std::vector<double> spread(double low, double high, int count) {
  std::vector<double> points;
  double position = 0;
  for (int i = 0; i < count; ++i) {
    position = std::fmod(position + 0.6180339887498949, 1.0);
    points.push_back(low + (high - low) * position);
  }
  return points;
}

// Numbers of both signs and all exponents of f64.
std::vector<double> magnitudes() {
  std::vector<double> points{0.0, -0.0, kInf, -kInf, std::nan("")};
  double mantissa = 1;
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    mantissa = 1 + std::fmod(mantissa + 0.6180339887498949, 1.0);
    points.push_back(std::ldexp(mantissa, exponent));
    points.push_back(-points.back());
  }
  return points;
}

struct Row {
  std::string op;
  double low, high;   // looked at closely
  double begin, end;  // all magnitudes between them too
  Real (*reference)(Real);
  double bound;          // in ULP
  double f32_bound = 0;  // where it is another
};

class ChloAccuracy : public ::testing::TestWithParam<Row> {};

void check(const Row& row, DType dtype, const std::vector<double>& points, double bound) {
  const Tensor x = Tensor::of<double>({static_cast<int64_t>(points.size())}, points).cast(dtype);
  const Tensor y = run(row.op, {x})[0];
  ASSERT_EQ(y.type(), x.type());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double at = x.as_double(i);
    const Real expected = row.reference(at);
    EXPECT_LE(ulp_error(dtype, y.as_double(i), expected), bound)
        << row.op << "(" << fmt::format("{:.17g}", at) << ") in " << fmt::format("{}", dtype)
        << ": got " << fmt::format("{:.17g}", y.as_double(i)) << ", expected "
        << static_cast<double>(expected);
  }
}

TEST_P(ChloAccuracy, WithinTheBound) {
  const Row& row = GetParam();
  std::vector<double> points = spread(row.low, row.high, 20000);
  for (const double x : magnitudes()) {
    if (std::isnan(x) || (x >= row.begin && x <= row.end)) points.push_back(x);
  }
  check(row, DType::f32, points, row.f32_bound > 0 ? row.f32_bound : row.bound);
  check(row, DType::f64, points, row.bound);
  // Computed in f32 and rounded once.
  check(row, DType::bf16, points, 0.51);
  check(row, DType::f16, points, 0.51);
}

const Row kRows[] = {
    {"acos", -1, 1, -kInf, kInf, std::acos, 1.1},
    {"acosh", 1, 4, -kInf, kInf, std::acosh, 2.2},
    {"asin", -1, 1, -kInf, kInf, std::asin, 0.8},
    {"asinh", -3, 3, -kInf, kInf, std::asinh, 1.6},
    {"atan", -3, 3, -kInf, kInf, std::atan, 0.8},
    {"atanh", -1, 1, -kInf, kInf, std::atanh, 1.2},
    {"bessel_i1e", -10, 10, -1000, 1000, bessel_i1e, 2.5},
    {"cosh", -3, 3, -kInf, kInf, std::cosh, 1.6, 70},
    {"digamma", 0.01, 1.46, 0, kInf, digamma, 2.6},
    {"digamma", 1.463, 12, 0, kInf, digamma, 2.5},
    {"erf", -5, 5, -kInf, kInf, std::erf, 1.4},
    {"erf_inv", -1, 1, -kInf, kInf, erf_inv, 2.7},
    {"erfc", -2, 10.5, -kInf, kInf, std::erfc, 3},
    {"erfc", 5, 27.3, -kInf, kInf, std::erfc, 3},
    {"lgamma", 0.01, 20, 0, kInf, std::lgamma, 2.2},
    {"sinh", -3, 3, -kInf, kInf, std::sinh, 1.8, 70},
    {"tan", -9, 9, -kInf, kInf, std::tan, 0.8},
};

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return fmt::format("{}_{}", info.param.op, info.index);
}

INSTANTIATE_TEST_SUITE_P(Ops, ChloAccuracy, ::testing::ValuesIn(kRows), row_name);

// The result is finite up to where it overflows.
TEST(ChloLgammaTest, NextToOverflow) {
  const Tensor x = Tensor::of<float>({2}, {4.08e36F, 4.085e36F});
  const Tensor y = run("lgamma", {x})[0];
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_LE(ulp_error(DType::f32, y.as_double(i), std::lgamma(static_cast<Real>(x.as_double(i)))),
              2);
  }
}

// Next to its zeros between the poles lgamma is as accurate as numbers of order 1 are.
TEST(ChloLgammaTest, BetweenPoles) {
  const std::vector<double> points = spread(-20, 0, 5000);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = Tensor::of<double>({5000}, points).cast(dtype);
    const Tensor y = run("lgamma", {x})[0];
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const Real expected = std::lgamma(static_cast<Real>(x.as_double(i)));
      const double size = std::max(1.0, static_cast<double>(std::abs(expected)));
      const double error = static_cast<double>(std::abs(y.as_double(i) - expected));
      EXPECT_LE(error, 8 * size * (dtype == DType::f32 ? 0x1p-24 : 0x1p-53)) << x.as_double(i);
    }
  }
}

// digamma(x) = digamma(1 - x) - pi / tan(pi x), for x < 0.
TEST(ChloDigammaTest, BetweenPoles) {
  const std::vector<double> points = spread(-10, 0, 5000);
  const Real pi = std::acos(-1.0L);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = Tensor::of<double>({5000}, points).cast(dtype);
    const Tensor y = run("digamma", {x})[0];
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const Real at = x.as_double(i);
      const Real cotangent = pi / std::tan(pi * (at - std::round(at)));
      const Real expected = digamma(1 - at) - cotangent;
      const double size = std::max(2.0, static_cast<double>(std::abs(cotangent)));
      const double error = static_cast<double>(std::abs(y.as_double(i) - expected));
      EXPECT_LE(error, 6 * size * (dtype == DType::f32 ? 0x1p-24 : 0x1p-53)) << x.as_double(i);
    }
  }
}

}  // namespace
}  // namespace systole::hlo::chlo
