// The errors of ops on the cpu backend against docs/numerics.md, and numbers at the ends of the
// range. SYSTOLE_PRINT_ULPS=1 prints the table of the document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "systole/base/environment.h"
#include "systole/stablehlo/chlo/testing/ulp.h"
#include "tests/numerics/scan.h"

namespace systole::numerics {
namespace {

using hlo::chlo::testing::ulp_error;

constexpr int kDense = 8;        // of the scan that makes the table
constexpr double kMargin = 1.1;  // for numbers that the dense scan did not meet

// Returns the numbers of the table in docs/numerics.md, by op.
std::map<std::string, std::vector<double>> documented_errors() {
  std::ifstream document("docs/numerics.md");
  std::map<std::string, std::vector<double>> rows;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(3));
    std::string name;
    std::getline(cells, name, '`');
    std::vector<double>& numbers = rows[name];
    std::string cell;
    std::getline(cells, cell, '|');
    while (std::getline(cells, cell, '|')) numbers.push_back(std::strtod(cell.c_str(), nullptr));
  }
  return rows;
}

// Rounded up to two places.
std::string to_cell(double ulps) { return fmt::format("{:.2f}", std::ceil(ulps * 100) / 100); }

TEST(Numerics, ErrorsAreAtMostThoseOfTheDocument) {
  const bool print = !environment_value("SYSTOLE_PRINT_ULPS").empty();
  const std::vector<Errors> measured = scan_ops("cpu", print ? kDense : 1);
  if (print) {
    for (const Errors& row : measured) {
      fmt::print("| `{}` | {} | {} | {} | {} |\n", row.name, to_cell(row.ulps[0]),
                 to_cell(row.ulps[1]), to_cell(row.ulps[2]), to_cell(row.ulps[3]));
    }
    return;  // the document has the old numbers
  }
  const auto documented = documented_errors();
  for (const Errors& row : measured) {
    const auto found = documented.find(row.name);
    ASSERT_NE(found, documented.end()) << row.name;
    ASSERT_EQ(found->second.size(), row.ulps.size()) << row.name;
    for (size_t i = 0; i < row.ulps.size(); ++i) {
      EXPECT_LE(row.ulps[i], found->second[i] * kMargin)
          << row.name << " in " << fmt::format("{}", kScanned[i]);
    }
  }
}

// -- Complex numbers at the ends of the range

// As in the mathematical tests of StableHLO, without denormal numbers and infinities.
std::vector<double> ends(DType dtype) {
  const Limits limits = limits_of(dtype);
  std::vector<double> values = {0};
  // (A sum whose smaller term is denormal lacks it, so no operand is near the smallest number.)
  const double small = std::ldexp(1.0, limits.lowest_exponent * 7 / 8);
  for (const double size : {small, std::sqrt(limits.smallest_normal) * 0.875, 1.5,
                            std::sqrt(limits.largest) / 4, limits.largest / 2, limits.largest}) {
    values.push_back(size);
  }
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

double part(const Tensor& z, int64_t i, bool imaginary) {
  if (z.dtype() == DType::c64) {
    const auto value = z.data<std::complex<float>>()[i];
    return imaginary ? value.imag() : value.real();
  }
  const auto value = z.data<std::complex<double>>()[i];
  return imaginary ? value.imag() : value.real();
}

class ComplexEnds : public ::testing::TestWithParam<std::string> {};

template <class T>
void check_complex(const std::string& backend, DType dtype) {
  const std::vector<double> values = ends(dtype);
  std::vector<std::complex<T>> operands;
  for (const double re : values) {
    for (const double im : values) operands.emplace_back(static_cast<T>(re), static_cast<T>(im));
  }
  // And numbers of all exponents but the smallest.
  std::mt19937_64 random(3);
  const Limits limits = limits_of(dtype);
  std::uniform_int_distribution<int> exponents(limits.lowest_exponent * 7 / 8,
                                               limits.highest_exponent);
  const auto draw = [&] {
    const double mantissa = std::uniform_real_distribution<double>(1, 2)(random);
    return static_cast<T>(std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, exponents(random)));
  };
  for (int i = 0; i < 2000; ++i) operands.emplace_back(draw(), draw());
  const Tensor z = Tensor::of<std::complex<T>>({static_cast<int64_t>(operands.size())}, operands);
  std::vector<std::string_view> names;
  for (const ComplexOp& op : complex_ops()) names.push_back(op.name);
  const std::vector<Tensor> results = run_ops(backend, names, {z});
  for (size_t k = 0; k < names.size(); ++k) {
    for (int64_t i = 0; i < z.num_elements(); ++i) {
      const Complex at = operands[i];
      const Complex expected = complex_ops()[k].reference(at);
      for (const bool imaginary : {false, true}) {
        const Real right = imaginary ? expected.imag() : expected.real();
        if (!is_normal(dtype, right)) continue;
        EXPECT_LE(ulp_error(dtype, part(results[k], i, imaginary), right), 3)
            << names[k] << "(" << at << "): " << (imaginary ? "imaginary" : "real") << " part, got "
            << part(results[k], i, imaginary) << ", expected " << right;
      }
    }
  }
}

TEST_P(ComplexEnds, AreWithinThreeUnits) {
  check_complex<float>(GetParam(), DType::f32);
  check_complex<double>(GetParam(), DType::f64);
}

INSTANTIATE_TEST_SUITE_P(Backends, ComplexEnds, ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return info.param; });

// -- Single results that were wrong once

TEST(Numerics, OfLargeAndSmallArguments) {
  for (const char* const backend : {"cpu", "reference"}) {
    const auto f32 = [&](std::string_view op, const std::vector<float>& x,
                         const std::vector<float>& y = {}) {
      std::vector<Tensor> operands = {Tensor::of<float>({static_cast<int64_t>(x.size())}, x)};
      if (!y.empty()) operands.push_back(Tensor::of<float>({static_cast<int64_t>(y.size())}, y));
      return run_ops(backend, {op}, operands)[0];
    };
    const Tensor angles = f32("atan2", {1e38F, 1e34F, -1e38F}, {1e38F, 1.79e38F, -1e38F});
    EXPECT_NEAR(angles.as_double(0), 0.785398163, 1e-6) << backend;
    EXPECT_NEAR(angles.as_double(1), 5.586592e-5, 1e-10) << backend;
    EXPECT_NEAR(angles.as_double(2), -2.35619449, 1e-6) << backend;
    EXPECT_NEAR(f32("chlo.erf", {8e-38F}).as_double(0), 9.02703337e-38, 1e-44) << backend;
    const Tensor tangent = run_ops(backend, {"tan"}, {Tensor::of<double>({1}, {3.33e-308})})[0];
    EXPECT_EQ(tangent.as_double(0), 3.33e-308) << backend;
  }
}

// A denormal number is a zero of its sign, also for functions that are the identity near zero.
TEST(Numerics, SmallArgumentsKeepTheirSign) {
  for (const std::string_view op : {"tan", "log_plus_one", "sine", "exponential_minus_one", "tanh",
                                    "cbrt", "sqrt", "chlo.erf"}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double denormal = limits_of(dtype).smallest_normal / 4;
      const Tensor x = Tensor::of<double>({4}, {0.0, -0.0, denormal, -denormal});
      const Tensor y = run_ops("cpu", {op}, {x.cast(dtype)})[0];
      for (int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(y.as_double(i), 0) << op;
        EXPECT_EQ(std::signbit(y.as_double(i)), i % 2 == 1) << op << " " << i;
      }
    }
  }
}

TEST(Numerics, SignOfADenormalNumberIsThatOfZero) {
  const Tensor x = Tensor::of<float>({4}, {1e-40F, -1e-40F, 0.0F, -0.0F});
  const Tensor y = run_ops("cpu", {"sign"}, {x})[0];
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(y.as_double(i), 0);
    EXPECT_EQ(std::signbit(y.as_double(i)), i % 2 == 1);
  }
  const Tensor nan = run_ops("cpu", {"sign"}, {Tensor::of<float>({1}, {NAN})})[0];
  EXPECT_TRUE(std::isnan(nan.as_double(0)));
}

}  // namespace
}  // namespace systole::numerics
