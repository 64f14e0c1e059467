#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

Expr square(Expr x) { return x * x; }

// (x - y)(x + y) + 2xyi. The factors overflow only where a part of the result does. The real part
// of numbers on the diagonals is 0 in any case. The factor 2 belongs to the part that cannot
// overflow by it, before the product, which may be denormal without it.
Expr square_complex(Expr z) {
  const Expr x = real(z);
  const Expr y = imag(z);
  const Expr diagonal = (abs(x) == abs(y)) & (abs(x) < kInfinity);
  return complex(where(diagonal, 0.0, (x - y) * (x + y)),
                 where(abs(x) < 1.0, (x + x) * y, x * (y + y)));
}

constexpr UnaryFormula kSquareFormula{
    .name = "square",
    .floating = square,
    .complex = square_complex,
    .integer = square,
};

}  // namespace

extern const Expand square_expansion = elementwise<kSquareFormula>;

}  // namespace systole::hlo::chlo::ops
