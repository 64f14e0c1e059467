#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kLog{
    .floating = [](double x) { return std::log(x); },
    .complex = [](std::complex<double> x) { return std::log(x); },
};

}  // namespace

extern const OpSemantics log_semantics = elementwise<kLog>();

}  // namespace systole::hlo::ops
