// Complex forms against long double, part by part.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "systole/stablehlo/chlo/testing/run_expansion.h"
#include "systole/stablehlo/chlo/testing/ulp.h"

namespace systole::hlo::chlo {
namespace {

using testing::run;
using testing::ulp_error;
using Complex = std::complex<long double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor vector_of(DType dtype, const std::vector<std::complex<double>>& elements) {
  return Tensor::of<std::complex<double>>({static_cast<int64_t>(elements.size())}, elements)
      .cast(dtype);
}

// The plane as products of points, dense next to the branch points 1 and i, out to where squares
// overflow and underflow. Numbers that f32 has.
std::vector<std::complex<double>> plane() {
  std::vector<double> axis;
  for (const double size :
       {0.0, 0x1p-140,    1e-30, 1e-10, 1e-3, 0.1,  0.3, 0.6,  0.9,  1 - 0x1p-24,
        1.0, 1 + 0x1p-23, 1.1,   1.7,   3.0,  10.0, 1e4, 1e12, 1e25, 3e38}) {
    axis.push_back(static_cast<float>(size));
    axis.push_back(-static_cast<float>(size));
  }
  std::vector<std::complex<double>> points;
  for (const double x : axis) {
    for (const double y : axis) points.emplace_back(x, y);
  }
  for (int i = 0; i < 2000; ++i) {
    const double x = 4 * std::fmod(i * 0.6180339887498949, 1.0) - 2;
    const double y = 4 * std::fmod(i * 0.7548776662466927, 1.0) - 2;
    points.emplace_back(static_cast<float>(x), static_cast<float>(y));
  }
  return points;
}

struct Row {
  std::string op;
  Complex (*reference)(const Complex&);
  double bound;  // ULP of each part
};

class ChloComplex : public ::testing::TestWithParam<Row> {};

TEST_P(ChloComplex, WithinTheBound) {
  const Row& row = GetParam();
  for (const DType dtype : {DType::c64, DType::c128}) {
    const Tensor z = vector_of(dtype, plane());
    const Tensor w = run(row.op, {z})[0].cast(DType::c128);
    for (int64_t i = 0; i < z.num_elements(); ++i) {
      const std::complex<double> at = plane()[i];
      const std::complex<double> got = w.data<std::complex<double>>()[i];
      const Complex expected = row.reference(at);
      const double error = std::max(ulp_error(real_dtype(dtype), got.real(), expected.real()),
                                    ulp_error(real_dtype(dtype), got.imag(), expected.imag()));
      EXPECT_LE(error, row.bound) << row.op << at << " in " << fmt::format("{}", dtype) << ": got "
                                  << got << ", expected " << std::complex<double>(expected);
    }
  }
}

Complex square(const Complex& z) {
  const long double x = z.real();
  const long double y = z.imag();
  return {(x - y) * (x + y), 2 * (x * y)};
}

const Row kRows[] = {
    {"acos", std::acos, 3},   {"acosh", std::acosh, 3}, {"asin", std::asin, 3},
    {"asinh", std::asinh, 3}, {"atan", std::atan, 3},   {"atanh", std::atanh, 3},
    {"square", square, 2},
};

std::string row_name(const ::testing::TestParamInfo<Row>& info) { return info.param.op; }

INSTANTIATE_TEST_SUITE_P(Ops, ChloComplex, ::testing::ValuesIn(kRows), row_name);

// -- Hyperbolic functions, also where exp alone would overflow

TEST(ChloComplexTest, SinhAndCosh) {
  std::vector<std::complex<double>> points;
  for (const double x : {-0.0, 0x1p-140, -0.3, 0.99, 1.01, -5.0, 40.0, -80.5, 89.0}) {
    for (const double y : {0.0, -1e-20, 0.5, -1.5, 3.0})
      points.emplace_back(static_cast<float>(x), static_cast<float>(y));
  }
  points.emplace_back(90, 1.5707963705062866);  // cos is 4e-8: one part is finite
  for (const DType dtype : {DType::c64, DType::c128}) {
    const Tensor sinh = run("sinh", {vector_of(dtype, points)})[0].cast(DType::c128);
    const Tensor cosh = run("cosh", {vector_of(dtype, points)})[0].cast(DType::c128);
    for (size_t i = 0; i < points.size(); ++i) {
      const Complex z = points[i];
      for (const auto& [got, expected] :
           {std::pair(sinh.data<std::complex<double>>()[i], std::sinh(z)),
            std::pair(cosh.data<std::complex<double>>()[i], std::cosh(z))}) {
        EXPECT_LE(ulp_error(real_dtype(dtype), got.real(), expected.real()), 3) << points[i];
        EXPECT_LE(ulp_error(real_dtype(dtype), got.imag(), expected.imag()), 3) << points[i];
      }
    }
  }
}

TEST(ChloComplexTest, Infinities) {
  const double half_pi = static_cast<float>(std::acos(0.0));
  const auto at = [](const std::string& op, std::complex<double> z) {
    return run(op, {vector_of(DType::c64, {z})})[0].cast(DType::c128).item<std::complex<double>>();
  };
  using C = std::complex<double>;
  EXPECT_EQ(at("asin", {kInf, 1}), C(half_pi, kInf));
  EXPECT_EQ(at("asin", {1, -kInf}), C(0, -kInf));
  EXPECT_EQ(at("acosh", {0, kInf}), C(kInf, half_pi));
  EXPECT_EQ(at("asinh", {-kInf, 1}), C(-kInf, 0));
  EXPECT_EQ(at("atanh", {kInf, -1}), C(0, -half_pi));
  EXPECT_EQ(at("atan", {1, kInf}), C(half_pi, 0));
  EXPECT_EQ(at("sinh", {kInf, 0}), C(kInf, 0));
  EXPECT_EQ(at("cosh", {-kInf, 0}), C(kInf, 0));
}

TEST(ChloComplexTest, Conj) {
  const Tensor z = vector_of(DType::c64, {{1, 2}, {3, -0.0}});
  const Tensor expected = vector_of(DType::c64, {{1, -2}, {3, 0.0}});
  EXPECT_TRUE(run("conj", {z})[0].identical(expected));
}

// asin and acos by the kernel's definition.
TEST(ChloComplexTest, AsinAcosKernel) {
  const Tensor z = vector_of(DType::c128, plane());
  const Tensor w = run("_asin_acos_kernel", {z})[0];
  const Tensor asin = run("asin", {z})[0];
  for (size_t i = 0; i < plane().size(); ++i) {
    const std::complex<double> kernel = w.data<std::complex<double>>()[i];
    const std::complex<double> value = asin.data<std::complex<double>>()[i];
    EXPECT_GE(kernel.real(), 0);
    EXPECT_EQ(std::abs(value.imag()), kernel.imag());
    EXPECT_EQ(value.real(), std::atan2(plane()[i].real(), kernel.real()));
  }
}

TEST(ChloComplexTest, BroadcastComplex) {
  const Tensor got = run("broadcast_complex", {Tensor::of<float>({2}, {1, 2}), Tensor(3.0F)})[0];
  EXPECT_TRUE(got.identical(vector_of(DType::c64, {{1, 3}, {2, 3}})));
}

}  // namespace
}  // namespace systole::hlo::chlo
