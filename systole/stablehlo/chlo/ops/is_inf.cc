#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

constexpr UnaryFormula kIsInfFormula{
    .name = "is_inf",
    .floating = [](Expr x) { return abs(x) == kInfinity; },
};

}  // namespace

extern const Expand is_inf_expansion = elementwise<kIsInfFormula>;

}  // namespace systole::hlo::chlo::ops
