#include <cmath>
#include <limits>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// e^a (cos b + i sin b). For infinite a and non-finite b, C gives a limit; StableHLO gives NaN.
std::complex<double> exponential(std::complex<double> x) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(x.imag()) ? std::exp(x) : std::complex<double>(kNan, kNan);
}

constexpr UnaryKernel kExponential{
    .floating = [](double x) { return std::exp(x); },
    .complex = [](std::complex<double> x) { return exponential(x); },
};

}  // namespace

extern const OpSemantics exponential_semantics = elementwise<kExponential>();

}  // namespace systole::hlo::ops
