#include "systole/hlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

constexpr UnaryFormula kFormula{
    .name = "tan",
    .floating = tan,
    .complex = tan,
};

}  // namespace

extern const Expand tan_expansion;
const Expand tan_expansion = elementwise<kFormula>;

}  // namespace systole::hlo::chlo::ops
