#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kTanh{
    .floating = [](double x) { return std::tanh(x); },
    .complex = [](std::complex<double> x) { return std::tanh(x); },
};

}  // namespace

extern const OpSemantics tanh_semantics = elementwise<kTanh>();

}  // namespace systole::hlo::ops
