#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// Wraps: the low bits of a product depend only on the low bits of its factors.
uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

// A negative exponent gives 0, except for 1 and -1, whose reciprocals are integers.
int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0 && base != 1 && base != -1) return 0;
  return static_cast<int64_t>(power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
}

// Uses the logarithm, which zero does not have.
std::complex<double> power(std::complex<double> base, std::complex<double> exponent) {
  if (exponent == 0.0) return 1.0;
  if (base == 0.0 && exponent.real() > 0) return 0.0;
  return std::pow(base, exponent);
}

constexpr BinaryKernel kPower{
    .floating = [](double x, double y) { return std::pow(x, y); },
    .complex = [](std::complex<double> x, std::complex<double> y) { return power(x, y); },
    .signed_integer = [](int64_t x, int64_t y) { return power(x, y); },
    .unsigned_integer = [](uint64_t x, uint64_t y) { return power(x, y); },
};

}  // namespace

extern const OpSemantics power_semantics = elementwise<kPower>();

}  // namespace systole::hlo::ops
