#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo::ops {
namespace {

// For elements of up to 32 bits, with a product of 64 bits.
Expr narrow(Expr x, Expr y) {
  const Expr product = x.convert(DType::s64) * y.convert(DType::s64);
  const Expr width = product.constant(dtype_info(x.dtype()).bits);
  // The conversion keeps the same bits after a logical shift.
  return product.binary(Opcode::shift_right_arithmetic, width).convert(x.dtype());
}

Expr shift_right(Expr x) { return x.binary(Opcode::shift_right_logical, x.constant(32)); }
Expr low_word(Expr x) { return x.binary(Opcode::and_, x.constant(0xffffffff)); }

// For unsigned 64-bit elements, in words of 32 bits; no sum overflows.
Expr wide(Expr x, Expr y) {
  const Expr low = low_word(x) * low_word(y);
  const Expr middle = shift_right(x) * low_word(y) + shift_right(low);
  const Expr other = low_word(x) * shift_right(y) + low_word(middle);
  return shift_right(x) * shift_right(y) + shift_right(middle) + shift_right(other);
}

// In two's complement a negative factor is 2^64 too large as an unsigned number.
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

extern const Expand mulhi_expansion = elementwise<kMulhiFormula>;

}  // namespace systole::hlo::chlo::ops
