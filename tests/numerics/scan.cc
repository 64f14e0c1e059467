#include "tests/numerics/scan.h"

#include <cmath>
#include <random>

#include "systole/stablehlo/chlo/testing/ulp.h"

namespace systole::numerics {
namespace {

using hlo::chlo::testing::ulp_error;

constexpr int kNumbersOfF32 = 16;  // of one exponent and sign
constexpr int kNumbersOfF64 = 3;
constexpr int kNumbersNear = 4000;
constexpr int kPairs = 20000;
constexpr int kSpecialPairs = 1000;

Tensor vector_of(DType dtype, const std::vector<double>& values) {
  return Tensor::of<double>({static_cast<int64_t>(values.size())}, values).cast(dtype);
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// A number of this exponent.
double draw(std::mt19937_64& random, int exponent) {
  const double mantissa = std::uniform_real_distribution<double>(1, 2)(random);
  return std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, exponent);
}

Tensor unary_operands(DType dtype, int density) {
  std::mt19937_64 random(1);
  std::vector<double> values;
  const Limits limits = limits_of(dtype);
  int numbers = density * (dtype == DType::f64 ? kNumbersOfF64 : kNumbersOfF32);
  if (is_half(dtype)) numbers = dtype == DType::f16 ? 1024 : 128;
  for (int exponent = limits.lowest_exponent; exponent <= limits.highest_exponent; ++exponent) {
    for (int i = 0; i < numbers; ++i) {
      const double fraction = is_half(dtype) ? static_cast<double>(i) / numbers
                                             : std::ldexp(static_cast<double>(random() >> 12), -52);
      for (const double sign : {1.0, -1.0}) {
        values.push_back(std::ldexp(sign * (1 + fraction), exponent));
      }
    }
  }
  // Closer where the functions bend.
  for (const double bound : {1.5, 12.0, 100.0}) {
    std::uniform_real_distribution<double> near(-bound, bound);
    for (int i = 0; i < kNumbersNear * density; ++i) values.push_back(near(random));
  }
  return vector_of(dtype, values);
}

struct Pairs {
  Tensor x;
  Tensor y;
};

// Numbers for functions of a small region: orders n of polygamma and s of zeta, and arguments.
Pairs special_operands(DType dtype, bool polygamma, int density) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> orders(1.1, 15);
  std::uniform_real_distribution<double> arguments(0.1, 100);
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < kSpecialPairs * density; ++i) {
    x.push_back(polygamma ? 1 + static_cast<double>(random() % 10) : orders(random));
    y.push_back(arguments(random));
  }
  return {vector_of(dtype, x), vector_of(dtype, y)};
}

// For a power, the exponents of the results are spread.
Pairs binary_operands(DType dtype, bool power, int density) {
  std::mt19937_64 random(2);
  const Limits limits = limits_of(dtype);
  std::uniform_int_distribution<int> exponents(limits.lowest_exponent, limits.highest_exponent);
  std::uniform_real_distribution<double> logarithms(limits.lowest_exponent,
                                                    limits.highest_exponent);
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < kPairs * density; ++i) {
    x.push_back(draw(random, exponents(random)));
    if (power) {
      if (i % 2 == 0) x.back() = draw(random, static_cast<int>(random() % 8) - 4);
      x.back() = std::abs(x.back());
      y.push_back(logarithms(random) / std::log2(x.back()));
    } else {
      y.push_back(draw(random, exponents(random)));
      // Every other pair has a quotient near 1.
      if (i % 2 == 0) y.back() = draw(random, std::ilogb(x.back()));
    }
  }
  return {vector_of(dtype, x), vector_of(dtype, y)};
}

double largest_error(DType dtype, const Tensor& x, const Tensor& got, const UnaryOp& op) {
  double largest = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double at = x.as_double(i);
    if (at < op.low || at > op.high || !is_normal(dtype, at)) continue;
    const Real expected = op.reference(at);
    if (!is_normal(dtype, expected)) continue;
    largest = std::max(largest, ulp_error(dtype, got.as_double(i), expected));
  }
  return largest;
}

double largest_error(DType dtype, const Pairs& pairs, const Tensor& got, const BinaryOp& op) {
  double largest = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const double x = pairs.x.as_double(i);
    const double y = pairs.y.as_double(i);
    if (!is_normal(dtype, x) || !is_normal(dtype, y)) continue;
    const Real expected = op.reference(x, y);
    if (!is_normal(dtype, expected)) continue;
    largest = std::max(largest, ulp_error(dtype, got.as_double(i), expected));
  }
  return largest;
}

}  // namespace

std::vector<Errors> scan_ops(const std::string& backend, int density) {
  std::vector<Errors> all;
  std::vector<std::string_view> names;
  for (const UnaryOp& op : unary_ops()) {
    names.push_back(op.name);
    all.push_back({.name = std::string(op.name)});
  }
  for (const BinaryOp& op : binary_ops()) all.push_back({.name = std::string(op.name)});
  for (const DType dtype : kScanned) {
    const Tensor x = unary_operands(dtype, density);
    const std::vector<Tensor> results = run_ops(backend, names, {x});
    for (size_t k = 0; k < results.size(); ++k) {
      all[k].ulps.push_back(largest_error(dtype, x, results[k], unary_ops()[k]));
    }
    for (size_t k = 0; k < binary_ops().size(); ++k) {
      const BinaryOp& op = binary_ops()[k];
      const bool polygamma = op.name == "chlo.polygamma";
      const Pairs pairs = polygamma || op.name == "chlo.zeta"
                              ? special_operands(dtype, polygamma, density)
                              : binary_operands(dtype, op.name == "power", density);
      const Tensor got = run_ops(backend, {op.name}, {pairs.x, pairs.y})[0];
      all[names.size() + k].ulps.push_back(largest_error(dtype, pairs, got, op));
    }
  }
  return all;
}

}  // namespace systole::numerics
