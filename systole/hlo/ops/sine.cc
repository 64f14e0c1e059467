#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kSine{
    .floating = [](double x) { return std::sin(x); },
    .complex = [](std::complex<double> x) { return std::sin(x); },
};

}  // namespace

extern const OpSemantics sine_semantics = elementwise<kSine>();

}  // namespace systole::hlo::ops
