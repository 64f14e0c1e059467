#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

// The bits of neighbours of one sign differ by 1 as integers. The step from 0 leads to the smallest
// number of y's sign.
Expr next_after(Expr x, Expr y) {
  const Expr bits = bits_of(x);
  const Expr away = ((x < y) & (x > 0.0)) | ((x > y) & (x < 0.0));
  const Expr step = from_bits(bits + where(away, bits.constant(1), bits.constant(-1)), x.dtype());
  const Expr smallest = from_bits(bits.constant(1), x.dtype());
  const Expr from_zero = where(y < 0.0, -smallest, smallest);
  const Expr moved = where(x == 0.0, from_zero, step);
  const Expr is_nan = (x != x) | (y != y);
  return where(is_nan, kNan, where(x == y, y, moved));
}

constexpr BinaryFormula kNextAfterFormula{
    .name = "next_after",
    .floating = next_after,
    .widen = false,
};

}  // namespace

extern const Expand next_after_expansion = elementwise<kNextAfterFormula>;

}  // namespace systole::hlo::chlo::ops
