#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

Expr conj(Expr z) { return complex(real(z), -imag(z)); }

// Real numbers are their own conjugates.
Expr same(Expr x) { return x; }

constexpr UnaryFormula kConjFormula{
    .name = "conj",
    .floating = same,
    .complex = conj,
    .integer = same,
};

}  // namespace

extern const Expand conj_expansion = elementwise<kConjFormula>;

}  // namespace systole::hlo::chlo::ops
