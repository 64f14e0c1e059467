#include "systole/hlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

Expr square(Expr x) { return x * x; }

Expr square_complex(Expr z) {
  const Expr x = real(z);
  const Expr y = imag(z);
  return complex((x - y) * (x + y), 2.0 * x * y);
}

constexpr UnaryFormula kFormula{
    .name = "square",
    .floating = square,
    .complex = square_complex,
    .integer = square,
};

}  // namespace

extern const Expand square_expansion;
const Expand square_expansion = elementwise<kFormula>;

}  // namespace systole::hlo::chlo::ops
