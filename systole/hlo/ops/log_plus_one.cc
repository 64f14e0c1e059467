#include <cmath>

#include "systole/hlo/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kLogPlusOne{
    .floating = [](double x) { return std::log1p(x); },
    .complex = [](std::complex<double> x) { return std::log(1.0 + x); },
};

}  // namespace

extern const OpSemantics log_plus_one_semantics;
const OpSemantics log_plus_one_semantics = elementwise<kLogPlusOne>();

}  // namespace systole::hlo::ops
