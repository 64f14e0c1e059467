#include "systole/hlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

// Of elements of up to 32 bits, as a product of 64.
Expr narrow(Expr x, Expr y) {
  const Expr product = x.convert(DType::s64) * y.convert(DType::s64);
  const Expr width = product.constant(dtype_info(x.dtype()).bits);
  // What the conversion keeps is the same for a logical shift.
  return product.binary(Opcode::shift_right_arithmetic, width).convert(x.dtype());
}

Expr shift_right(Expr x) { return x.binary(Opcode::shift_right_logical, x.constant(32)); }
Expr low_word(Expr x) { return x.binary(Opcode::and_, x.constant(0xffffffff)); }

// Of unsigned 64-bit elements, by words of 32 bits; no sum overflows.
Expr wide(Expr x, Expr y) {
  const Expr low = low_word(x) * low_word(y);
  const Expr middle = shift_right(x) * low_word(y) + shift_right(low);
  const Expr other = low_word(x) * shift_right(y) + low_word(middle);
  return shift_right(x) * shift_right(y) + shift_right(middle) + shift_right(other);
}

// Two's complement: a negative factor counts for 2^64 too much.
Expr wide_signed(Expr x, Expr y) {
  const Expr product =
      from_bits(wide(from_bits(x, DType::u64), from_bits(y, DType::u64)), DType::s64);
  return product - where(x < 0.0, y, 0.0) - where(y < 0.0, x, 0.0);
}

Expr mulhi(Expr x, Expr y) {
  if (x.dtype() == DType::u64) return wide(x, y);
  return x.dtype() == DType::s64 ? wide_signed(x, y) : narrow(x, y);
}

constexpr BinaryFormula kMulhiFormula{
    .name = "mulhi",
    .integer = mulhi,
};

}  // namespace

extern const Expand mulhi_expansion;
const Expand mulhi_expansion = elementwise<kMulhiFormula>;

}  // namespace systole::hlo::chlo::ops
