#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kCbrt{
    .floating = [](double x) { return std::cbrt(x); },
    .complex =
        [](std::complex<double> x) { return std::polar(std::cbrt(std::abs(x)), std::arg(x) / 3); },
};

}  // namespace

extern const OpSemantics cbrt_semantics = elementwise<kCbrt>();

}  // namespace systole::hlo::ops
