#include <cmath>

#include "systole/hlo/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kExponential{
    .floating = [](double x) { return std::exp(x); },
    .complex = [](std::complex<double> x) { return std::exp(x); },
};

}  // namespace

extern const OpSemantics exponential_semantics;
const OpSemantics exponential_semantics = elementwise<kExponential>();

}  // namespace systole::hlo::ops
