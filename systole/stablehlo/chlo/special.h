// Functions that several ops use. All take f32 or f64.
#pragma once

#include "systole/stablehlo/chlo/formula.h"

namespace systole::hlo::chlo {

// asin(|x|) = small ? angle : pi/2 - 2 * angle, with small = |x| <= 1/2; NaN above 1.
struct HalfAngle {
  Expr small;
  TwoPart angle;
};
HalfAngle asin_half_angle(Expr x);

// A complex number as two real ones.
struct Parts {
  Expr real;
  Expr imaginary;
};
// w = _asin_acos_kernel(re + i im), both parts >= 0:
//   asin(z) = atan2(re, w.real) + i copy_sign(w.imaginary, im)
//   acos(z) = atan2(w.real, re) - i copy_sign(w.imaginary, im)
Parts asin_acos_kernel(Expr re, Expr im);
Parts atanh_parts(Expr re, Expr im);

// exp(x) / 2 of f32 as StableHLO decomposes cosh and sinh and as its test data expect: exp(x +
// log(1/2)). The sum is rounded, so the error grows with |x|: 4 ULP at 8, 64 at 80.
Expr half_exp_of_f32(Expr x);

// scale * half = exp(x) / 2 and scale * inverse = exp(-x) / 2 for x >= 0, up to rounding. The scale
// is 1 unless exp(x) may overflow; multiply by a factor below 1 first in that case.
struct HalfExponential {
  Expr half;
  Expr inverse;
  Expr scale;
};
HalfExponential half_exponential(Expr x);
// sinh(x) / e.scale, where e = half_exponential(|x|).
Expr scaled_sinh(Expr x, const HalfExponential& e);

// erf(x) on [-1, 1].
Expr erf_core(Expr x);
// erfc(x) for x >= 3/4.
Expr erfc_tail(Expr x);

Expr erf(Expr x);
Expr erfc(Expr x);
// The positive zero of digamma, the minimum of lgamma.
inline constexpr SplitConstant kDigammaRoot{1.4616321449683622, 9.549995429965698e-17};
// x - c, accurate near c.
inline Expr distance(Expr x, SplitConstant c) {
  const TwoPart parts = split(x, c);
  return (x - parts.high) - parts.low;
}

Expr digamma(Expr x);
Expr lgamma(Expr x);
Expr zeta(Expr x, Expr q);

}  // namespace systole::hlo::chlo
