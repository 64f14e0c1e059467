#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// Avoids the overflow of exp(-x) for negative x.
constexpr UnaryKernel kLogistic{
    .floating =
        [](double x) {
          const double e = std::exp(-std::abs(x));
          return (x < 0 ? e : 1) / (1 + e);
        },
    .complex = [](std::complex<double> x) { return 1.0 / (1.0 + std::exp(-x)); },
};

}  // namespace

extern const OpSemantics logistic_semantics = elementwise<kLogistic>();

}  // namespace systole::hlo::ops
