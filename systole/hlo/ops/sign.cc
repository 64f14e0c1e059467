#include <cmath>
#include <limits>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// Zeros keep their sign, NaN stays NaN.
double sign(double x) {
  if (std::isnan(x) || x == 0) return x;
  return x < 0 ? -1 : 1;
}

std::complex<double> sign(std::complex<double> x) {
  if (std::isnan(x.real()) || std::isnan(x.imag())) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  return x == 0.0 ? x : x / std::abs(x);
}

constexpr UnaryKernel kSign{
    .floating = [](double x) { return sign(x); },
    .complex = [](std::complex<double> x) { return sign(x); },
    .signed_integer = [](int64_t x) -> int64_t { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); },
};

}  // namespace

extern const OpSemantics sign_semantics = elementwise<kSign>();

}  // namespace systole::hlo::ops
