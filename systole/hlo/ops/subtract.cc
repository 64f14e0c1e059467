#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr BinaryKernel kSubtract{
    .floating = [](double x, double y) { return x - y; },
    .complex = [](std::complex<double> x, std::complex<double> y) { return x - y; },
    .bits = [](uint64_t x, uint64_t y, int) { return x - y; },
};

}  // namespace

extern const OpSemantics subtract_semantics =
    elementwise<kSubtract>({.quantized = OpQuantization{.form = QuantizedForm::adds},
                            .sum_over_replicas = replicas::sum_terms});

}  // namespace systole::hlo::ops
