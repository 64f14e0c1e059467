#include "systole/hlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

Expr atan(Expr x) { return atan2(x, x.constant(1)); }

constexpr UnaryFormula kFormula{
    .name = "atan",
    .floating = atan,
};

}  // namespace

extern const Expand atan_expansion;
const Expand atan_expansion = elementwise<kFormula>;

}  // namespace systole::hlo::chlo::ops
