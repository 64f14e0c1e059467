#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// exp(a + bi) - 1 without cancellation near zero: cos(b) - 1 == -2 sin(b/2)^2.
std::complex<double> exponential_minus_one(std::complex<double> x) {
  const double a = x.real();
  const double b = x.imag();
  if (b == 0 || (std::isinf(a) && std::isfinite(b))) {
    // On the real axis and at the limits of exp.
    const std::complex<double> exponential = std::exp(x);
    return {b == 0 ? std::expm1(a) : exponential.real() - 1, exponential.imag()};
  }
  const double half = std::sin(b / 2);
  return {std::expm1(a) * std::cos(b) - 2 * half * half, std::exp(a) * std::sin(b)};
}

constexpr UnaryKernel kExponentialMinusOne{
    .floating = [](double x) { return std::expm1(x); },
    .complex = [](std::complex<double> x) { return exponential_minus_one(x); },
};

}  // namespace

extern const OpSemantics exponential_minus_one_semantics = elementwise<kExponentialMinusOne>();

}  // namespace systole::hlo::ops
