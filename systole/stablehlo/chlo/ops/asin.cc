#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// (asin(sqrt(z)) / sqrt(z) - 1) / z on [0, 1/4]: Chebyshev fits computed with 50 digits.
constexpr double kAsin32[] = {0.033805748309, 0.017077859371, 0.031116156439,
                              0.044598032230, 0.075000987627, 0.16666666317};
constexpr double kAsin64[] = {
    0.028878362746452392983,  -0.015032162599250313686, 0.017518833979538669482,
    0.0054131844837155090439, 0.010333372152967260509,  0.011477517005507167270,
    0.013971387083102128569,  0.017352380709839097583,  0.022372173467043486893,
    0.030381944125008751136,  0.044642857146535227334,  0.074999999999983394200,
    0.16666666666666667907};

}  // namespace

// For |x| > 1/2 the half-angle formula gives asin(t) with t = sqrt(half); the rounding error of t
// is added back.
HalfAngle asin_half_angle(Expr x) {
  const Expr size = abs(x);
  const Expr small = size <= 0.5;
  const Expr half = 0.5 * (1.0 - size);
  const Expr root = sqrt(half);
  const Expr high = where(small, size, high_half(root));
  const Expr lost = where(small | (root == 0.0), 0.0, (half - high * high) / (root + high));
  const Expr z = where(small, size * size, half);
  const Expr t = where(small, size, root);
  return {small, {high, lost + t * (z * polynomial(z, kAsin32, kAsin64))}};
}

namespace ops {
namespace {

Expr asin(Expr x) {
  const auto [small, angle] = asin_half_angle(x);
  const TwoPart quarter = split(x, kHalfPi);
  const Expr large = (quarter.high - 2.0 * angle.high) - (2.0 * angle.low - quarter.low);
  return copy_sign(where(small, angle.high + angle.low, large), x);
}

Expr asin_complex(Expr z) {
  const Parts w = asin_acos_kernel(real(z), imag(z));
  return complex(atan2(real(z), w.real), copy_sign(w.imaginary, imag(z)));
}

constexpr UnaryFormula kAsinFormula{
    .name = "asin",
    .floating = asin,
    .complex = asin_complex,
};

}  // namespace
extern const Expand asin_expansion = elementwise<kAsinFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
