#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

constexpr UnaryFormula kIsNegInfFormula{
    .name = "is_neg_inf",
    .floating = [](Expr x) { return x == -kInfinity; },
};

}  // namespace

extern const Expand is_neg_inf_expansion = elementwise<kIsNegInfFormula>;

}  // namespace systole::hlo::chlo::ops
