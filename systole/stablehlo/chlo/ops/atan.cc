#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

Expr atan(Expr x) { return atan2(x, x.constant(1)); }

// atan(z) = -i atanh(iz).
Expr atan_complex(Expr z) {
  const Parts w = atanh_parts(-imag(z), real(z));
  return complex(w.imaginary, -w.real);
}

constexpr UnaryFormula kAtanFormula{
    .name = "atan",
    .floating = atan,
    .complex = atan_complex,
};

}  // namespace

extern const Expand atan_expansion = elementwise<kAtanFormula>;

}  // namespace systole::hlo::chlo::ops
