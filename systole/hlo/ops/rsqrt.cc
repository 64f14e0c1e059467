#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kRsqrt{
    .floating = [](double x) { return 1 / std::sqrt(x); },
    .complex = [](std::complex<double> x) { return 1.0 / std::sqrt(x); },
};

}  // namespace

extern const OpSemantics rsqrt_semantics = elementwise<kRsqrt>();

}  // namespace systole::hlo::ops
