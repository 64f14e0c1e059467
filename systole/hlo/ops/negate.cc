#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kNegate{
    .floating = [](double x) { return -x; },
    .complex = [](std::complex<double> x) { return -x; },
    .bits = [](uint64_t x, int) { return 0 - x; },
};

}  // namespace

extern const OpSemantics negate_semantics =
    elementwise<kNegate>({.sum_over_replicas = replicas::sum_linear});

}  // namespace systole::hlo::ops
