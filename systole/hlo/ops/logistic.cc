#include <cmath>

#include "systole/hlo/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kLogistic{
    .floating = [](double x) { return 1 / (1 + std::exp(-x)); },
    .complex = [](std::complex<double> x) { return 1.0 / (1.0 + std::exp(-x)); },
};

}  // namespace

extern const OpSemantics logistic_semantics;
const OpSemantics logistic_semantics = elementwise<kLogistic>();

}  // namespace systole::hlo::ops
