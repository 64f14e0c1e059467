#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kCosine{
    .floating = [](double x) { return std::cos(x); },
    .complex = [](std::complex<double> x) { return std::cos(x); },
};

}  // namespace

extern const OpSemantics cosine_semantics = elementwise<kCosine>();

}  // namespace systole::hlo::ops
