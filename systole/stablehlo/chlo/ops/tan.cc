#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

constexpr UnaryFormula kTanFormula{
    .name = "tan",
    .floating = tan,
    .complex = tan,
};

}  // namespace

extern const Expand tan_expansion = elementwise<kTanFormula>;

}  // namespace systole::hlo::chlo::ops
