#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// IEEE-754 `minimum`: NaN if either is NaN; -0 is below +0.
double minimum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

// Lexicographic.
std::complex<double> minimum(std::complex<double> x, std::complex<double> y) {
  const bool first = x.real() == y.real() ? x.imag() < y.imag() : x.real() < y.real();
  return first ? x : y;
}

constexpr BinaryKernel kMinimumMinimum{
    .floating = [](double x, double y) { return minimum(x, y); },
    .complex = [](std::complex<double> x, std::complex<double> y) { return minimum(x, y); },
    .signed_integer = [](int64_t x, int64_t y) { return x < y ? x : y; },
    .unsigned_integer = [](uint64_t x, uint64_t y) { return x < y ? x : y; },
    .pred = [](bool x, bool y) { return x && y; },
};

}  // namespace

extern const OpSemantics minimum_semantics =
    elementwise<kMinimumMinimum>({.quantized = OpQuantization{.form = QuantizedForm::picks}});

}  // namespace systole::hlo::ops
