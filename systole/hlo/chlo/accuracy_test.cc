// Errors of the real formulas against long double, over ranges where they change course and over
// all magnitudes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "systole/hlo/chlo/testing/run_expansion.h"
#include "systole/hlo/chlo/testing/ulp.h"

namespace systole::hlo::chlo {
namespace {

using testing::run;
using testing::ulp_error;
using Real = long double;

constexpr double kInf = std::numeric_limits<double>::infinity();

// -- References for what <cmath> lacks

// By recurrence to where the asymptotic series has all digits; x >= 0.
Real digamma(Real x) {
  if (x == 0) return std::nan("");
  Real sum = 0;
  for (; x < 30; ++x) sum -= 1 / x;
  const Real square = 1 / (x * x);
  const Real series =
      square *
      (1 / 12.0L -
       square * (1 / 120.0L -
                 square * (1 / 252.0L -
                           square * (1 / 240.0L - square * (1 / 132.0L - square * 691 / 32760)))));
  return sum + std::log(x) - 1 / (2 * x) - series;
}

// The power series, all of whose terms are positive.
Real bessel_i1e(Real x) {
  if (std::isnan(x)) return x;
  const Real square = x * x / 4;
  Real term = std::exp(-std::abs(x)) * x / 2;
  Real sum = 0;
  for (int k = 1; term != 0 && std::abs(term) > std::abs(sum) * 1e-21L; ++k) {
    sum += term;
    term *= square / k / (k + 1);
  }
  return sum;
}

// Newton's steps on erfc, which is accurate where x is close to 1.
Real erf_inv(Real x) {
  const Real size = std::abs(x);
  if (size >= 1) return size == 1 ? x * kInf : std::nan("");
  const Real w = -std::log((1 - size) * (1 + size));
  Real y = size * (w < 5 ? 0.886L + w * 0.14L : std::sqrt(w) - 0.2L);
  for (int step = 0; step < 30; ++step) {
    const Real excess = size < 0.5L ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const Real slope = 2 / std::sqrt(std::acos(-1.0L)) * std::exp(-y * y);
    const Real change = excess / slope;
    y -= change / (1 + y * change);
  }
  return std::copysign(y, x);
}

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
  double bound;  // in ULP, of f32 and f64 alike
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
  check(row, DType::f32, points, row.bound);
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
    {"cosh", -3, 3, -kInf, kInf, std::cosh, 1.6},
    {"digamma", 0.01, 1.46, 0, kInf, digamma, 2.6},
    {"digamma", 1.463, 12, 0, kInf, digamma, 2.5},
    {"erf", -5, 5, -kInf, kInf, std::erf, 1.4},
    {"erf_inv", -1, 1, -kInf, kInf, erf_inv, 2.7},
    {"erfc", -2, 10.5, -kInf, kInf, std::erfc, 3},
    {"erfc", 5, 27.3, -kInf, kInf, std::erfc, 3},
    {"lgamma", 0.01, 20, 0, kInf, std::lgamma, 2.2},
    {"sinh", -3, 3, -kInf, kInf, std::sinh, 1.8},
    {"tan", -9, 9, -kInf, kInf, std::tan, 0.8},
};

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return fmt::format("{}_{}", info.param.op, info.index);
}

INSTANTIATE_TEST_SUITE_P(Ops, ChloAccuracy, ::testing::ValuesIn(kRows), row_name);

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
