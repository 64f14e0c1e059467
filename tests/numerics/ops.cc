#include "tests/numerics/ops.h"

#include <fmt/format.h>

#include <cmath>

#include "systole/base/error.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/chlo/testing/references.h"
#include "systole/stablehlo/text/text.h"

namespace systole::numerics {
namespace {

namespace reference = hlo::chlo::testing;

Real rsqrt(Real x) { return 1 / std::sqrt(x); }
Real logistic(Real x) { return 1 / (1 + std::exp(-x)); }

// NaN close to its zero, where long double is not accurate enough.
Real digamma(Real x) {
  const Real value = reference::digamma(x);
  return std::abs(value) < 0.01L ? std::nan("") : value;
}

constexpr UnaryOp kUnary[] = {
    {"cbrt", std::cbrt},
    {"cosine", std::cos},
    {"exponential", std::exp},
    {"exponential_minus_one", std::expm1},
    {"log", std::log},
    {"log_plus_one", std::log1p},
    {"logistic", logistic},
    {"rsqrt", rsqrt},
    {"sine", std::sin},
    {"sqrt", std::sqrt},
    {"tan", std::tan},
    {"tanh", std::tanh},
    {"chlo.acos", std::acos},
    {"chlo.acosh", std::acosh},
    {"chlo.asin", std::asin},
    {"chlo.asinh", std::asinh},
    {"chlo.atan", std::atan},
    {"chlo.atanh", std::atanh},
    {"chlo.bessel_i1e", reference::bessel_i1e, -1000, 1000},
    {"chlo.cosh", std::cosh},
    {"chlo.digamma", digamma, 0},
    {"chlo.erf", std::erf},
    {"chlo.erf_inv", reference::erf_inv},
    {"chlo.erfc", std::erfc},
    {"chlo.lgamma", std::lgamma, 0},
    {"chlo.sinh", std::sinh},
};

Real divide(Real x, Real y) { return x / y; }

// Hurwitz' function for s > 1, q > 0 by the formula of Euler and Maclaurin.
Real zeta(Real s, Real q) {
  constexpr int kTerms = 40;
  constexpr Real kBernoulli[] = {1 / 6.0L,  -1 / 30.0L,     1 / 42.0L, -1 / 30.0L,
                                 5 / 66.0L, -691 / 2730.0L, 7 / 6.0L,  -3617 / 510.0L};
  Real sum = 0;
  for (int k = kTerms - 1; k >= 0; --k) sum += std::pow(q + k, -s);
  const Real a = q + kTerms;
  sum += std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) / 2;
  Real factor = s * std::pow(a, -s - 1) / 2;
  for (int j = 1; j <= 8; ++j) {
    sum += kBernoulli[j - 1] * factor;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (a * a * (2 * j + 1) * (2 * j + 2));
  }
  return sum;
}
Real polygamma(Real n, Real x) {
  const Real size = std::tgamma(n + 1) * zeta(n + 1, x);
  return std::fmod(n, 2.0L) == 1 ? size : -size;
}

constexpr BinaryOp kBinary[] = {
    {"atan2", std::atan2},         {"divide", divide},  {"power", std::pow},
    {"chlo.polygamma", polygamma}, {"chlo.zeta", zeta},
};

// log(1 + z), accurate also for small z.
Complex log_plus_one(const Complex& z) {
  const Real x = z.real();
  const Real y = z.imag();
  const Real square = x * (2 + x) + y * y;
  const Real real =
      std::abs(square) < 0.5L ? std::log1p(square) / 2 : std::log(std::hypot(1 + x, y));
  return {real, std::atan2(y, 1 + x)};
}
Complex square(const Complex& z) {
  return {(z.real() - z.imag()) * (z.real() + z.imag()), 2 * z.real() * z.imag()};
}

constexpr ComplexOp kComplex[] = {
    {"chlo.acos", std::acos<Real>}, {"chlo.acosh", std::acosh<Real>},
    {"chlo.asin", std::asin<Real>}, {"chlo.asinh", std::asinh<Real>},
    {"chlo.atan", std::atan<Real>}, {"chlo.atanh", std::atanh<Real>},
    {"chlo.square", square},        {"exponential", std::exp<Real>},
    {"log", std::log<Real>},        {"log_plus_one", log_plus_one},
    {"sqrt", std::sqrt<Real>},
};

}  // namespace

std::span<const UnaryOp> unary_ops() { return kUnary; }
std::span<const BinaryOp> binary_ops() { return kBinary; }
std::span<const ComplexOp> complex_ops() { return kComplex; }

std::vector<Tensor> run_ops(const std::string& backend, const std::vector<std::string_view>& names,
                            const std::vector<Tensor>& operands) {
  const DType dtype = operands[0].dtype();
  const std::string element = dtype == DType::c64    ? "complex<f32>"
                              : dtype == DType::c128 ? "complex<f64>"
                                                     : fmt::format("{}", dtype);
  const std::string type = fmt::format("{}x{}", operands[0].num_elements(), element);
  std::string parameters;
  std::string arguments;
  std::string types;
  for (size_t i = 0; i < operands.size(); ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    parameters += fmt::format("{}%x{}: tensor<{}>", comma, i, type);
    arguments += fmt::format("{}%x{}", comma, i);
    types += fmt::format("{}tensor<{}>", comma, type);
  }
  std::string body;
  std::string results;
  std::string result_types;
  for (size_t i = 0; i < names.size(); ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    const bool chlo = names[i].starts_with("chlo.");
    body += fmt::format("  %r{} = \"{}{}\"({}) : ({}) -> tensor<{}>\n", i, chlo ? "" : "stablehlo.",
                        names[i], arguments, types, type);
    results += fmt::format("{}%r{}", comma, i);
    result_types += fmt::format("{}tensor<{}>", comma, type);
  }
  const std::string text = fmt::format("func.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
                                       parameters, result_types, body, results, result_types);
  return runtime::run(*runtime::client(backend).compile(*hlo::parse(text)), operands);
}

Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {0x1p-1022, 0x1.fffffffffffffp1023, -1022, 1023};
    case DType::f32:
      return {0x1p-126, 0x1.fffffep127, -126, 127};
    case DType::bf16:
      return {0x1p-126, 0x1.fep127, -126, 127};
    case DType::f16:
      return {0x1p-14, 65504, -14, 15};
    default:
      throw internal_error("limits: got {}", dtype);
  }
}

bool is_normal(DType dtype, Real x) {
  const Limits limits = limits_of(dtype);
  const Real size = std::abs(x);
  return size >= limits.smallest_normal && size <= limits.largest;
}

}  // namespace systole::numerics
