#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// The textbook formula; std::complex turns some NaNs into infinities.
std::complex<double> multiply(std::complex<double> x, std::complex<double> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

constexpr BinaryKernel kMultiply{
    .floating = [](double x, double y) { return x * y; },
    .complex = [](std::complex<double> x, std::complex<double> y) { return multiply(x, y); },
    .bits = [](uint64_t x, uint64_t y, int) { return x * y; },
    .pred = [](bool x, bool y) { return x && y; },
};

}  // namespace

extern const OpSemantics multiply_semantics =
    elementwise<kMultiply>({.sum_over_replicas = replicas::sum_product});

}  // namespace systole::hlo::ops
