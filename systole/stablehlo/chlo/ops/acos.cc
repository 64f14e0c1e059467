#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

Expr acos(Expr x) {
  const auto [small, angle] = asin_half_angle(x);
  const Expr sum = angle.high + angle.low;
  const TwoPart quarter = split(x, kHalfPi);
  const Expr near_zero = quarter.high - (copy_sign(sum, x) - quarter.low);
  const Expr near_minus_one = 2.0 * (quarter.high - (sum - quarter.low));
  return where(small, near_zero, where(is_negative(x), near_minus_one, 2.0 * sum));
}

Expr acos_complex(Expr z) {
  const Parts w = asin_acos_kernel(real(z), imag(z));
  return complex(atan2(w.real, real(z)), -copy_sign(w.imaginary, imag(z)));
}

constexpr UnaryFormula kAcosFormula{
    .name = "acos",
    .floating = acos,
    .complex = acos_complex,
};

}  // namespace

extern const Expand acos_expansion = elementwise<kAcosFormula>;

}  // namespace systole::hlo::chlo::ops
