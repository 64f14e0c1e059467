#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// IEEE-754 `maximum`: NaN if either is NaN; -0 is below +0.
double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

// Lexicographic.
std::complex<double> maximum(std::complex<double> x, std::complex<double> y) {
  const bool first = x.real() == y.real() ? x.imag() > y.imag() : x.real() > y.real();
  return first ? x : y;
}

constexpr BinaryKernel kMaximum{
    .floating = [](double x, double y) { return maximum(x, y); },
    .complex = [](std::complex<double> x, std::complex<double> y) { return maximum(x, y); },
    .signed_integer = [](int64_t x, int64_t y) { return x > y ? x : y; },
    .unsigned_integer = [](uint64_t x, uint64_t y) { return x > y ? x : y; },
    .pred = [](bool x, bool y) { return x || y; },
};

}  // namespace

extern const OpSemantics maximum_semantics =
    elementwise<kMaximum>({.quantized = OpQuantization{.form = QuantizedForm::picks}});

}  // namespace systole::hlo::ops
