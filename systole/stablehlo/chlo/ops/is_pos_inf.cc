#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

constexpr UnaryFormula kIsPosInfFormula{
    .name = "is_pos_inf",
    .floating = [](Expr x) { return x == kInfinity; },
};

}  // namespace

extern const Expand is_pos_inf_expansion = elementwise<kIsPosInfFormula>;

}  // namespace systole::hlo::chlo::ops
