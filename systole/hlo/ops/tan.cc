#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kTan{
    .floating = [](double x) { return std::tan(x); },
    .complex = [](std::complex<double> x) { return std::tan(x); },
};

}  // namespace

extern const OpSemantics tan_semantics = elementwise<kTan>();

}  // namespace systole::hlo::ops
