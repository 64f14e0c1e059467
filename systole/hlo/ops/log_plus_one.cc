#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// Returns the rounding error of a + b in f64.
double rounding_error(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return (a - (sum - part)) + (b - part);
}

//   1 + x + iy|^2 - 1 == 2x + x^2 + y^2. The terms cancel, so they are summed with the rounding
//   error of each step.
double excess(double x, double y) {
  const double xx = x * x;
  const double yy = y * y;
  const double lost = std::fma(x, x, -xx) + std::fma(y, y, -yy);
  const double first = 2 * x + xx;
  return first + yy + (rounding_error(2 * x, xx) + rounding_error(first, yy) + lost);
}

std::complex<double> log_plus_one(std::complex<double> z) {
  const double x = z.real();
  const double y = z.imag();
  const std::complex<double> shifted(1 + x, y);
  const double magnitude = std::abs(shifted);
  if (!(magnitude > 0.5 && magnitude < 2)) return std::log(shifted);
  return {std::log1p(excess(x, y)) / 2, std::arg(shifted)};
}

constexpr UnaryKernel kLogPlusOne{
    .floating = [](double x) { return std::log1p(x); },
    .complex = [](std::complex<double> x) { return log_plus_one(x); },
};

}  // namespace

extern const OpSemantics log_plus_one_semantics = elementwise<kLogPlusOne>();

}  // namespace systole::hlo::ops
