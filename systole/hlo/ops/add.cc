#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr BinaryKernel kAdd{
    .floating = [](double x, double y) { return x + y; },
    .complex = [](std::complex<double> x, std::complex<double> y) { return x + y; },
    .bits = [](uint64_t x, uint64_t y, int) { return x + y; },
    .pred = [](bool x, bool y) { return x || y; },
};

}  // namespace

extern const OpSemantics add_semantics =
    elementwise<kAdd>({.quantized = OpQuantization{.form = QuantizedForm::adds, .per_axis = true},
                       .sum_over_replicas = replicas::sum_terms});

}  // namespace systole::hlo::ops
