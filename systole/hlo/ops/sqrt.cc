#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kSqrt{
    .floating = [](double x) { return std::sqrt(x); },
    .complex = [](std::complex<double> x) { return std::sqrt(x); },
};

}  // namespace

extern const OpSemantics sqrt_semantics = elementwise<kSqrt>();

}  // namespace systole::hlo::ops
