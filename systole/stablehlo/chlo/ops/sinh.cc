#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// (sinh(sqrt(z)) / sqrt(z) - 1) / z on [0, 1]: Chebyshev fits computed with 50 digits.
constexpr double kSinhSmall32[] = {2.8062904395e-6, 0.00019838100442, 0.0083333396816,
                                   0.16666666647};
constexpr double kSinhSmall64[] = {2.8445276524447323963e-15, 7.6466253184172504391e-13,
                                   1.6059048396945078711e-10, 2.5052108364053987429e-8,
                                   2.7557319224040352784e-6,  0.00019841269841269773174,
                                   0.0083333333333333333658,  0.16666666666666666667};

// `large`, except for |x| <= 1, where it would cancel.
Expr sinh_or(Expr x, Expr large) {
  const Expr square = x * x;
  const Expr small = x + x * (square * polynomial(square, kSinhSmall32, kSinhSmall64));
  return where(abs(x) <= 1.0, small, large);
}

}  // namespace

Expr scaled_sinh(Expr x, const HalfExponential& e) {
  return sinh_or(x, copy_sign(e.half - e.inverse, x));
}

namespace ops {
namespace {

Expr sinh(Expr x) {
  if (!x.is_f64()) return sinh_or(x, half_exp_of_f32(x) - half_exp_of_f32(-x));
  const HalfExponential e = half_exponential(abs(x));
  return scaled_sinh(x, e) * e.scale;
}

// sinh(x) cos(y) + i cosh(x) sin(y). sin(0) is 0 also where cosh(x) is infinite.
Expr sinh_complex(Expr z) {
  const Expr x = real(z);
  const HalfExponential e = half_exponential(abs(x));
  const Expr sine = sin(imag(z));
  const Expr imaginary = (e.half + e.inverse) * sine * e.scale;
  return complex(scaled_sinh(x, e) * cos(imag(z)) * e.scale, where(sine == 0.0, sine, imaginary));
}

constexpr UnaryFormula kSinhFormula{
    .name = "sinh",
    .floating = sinh,
    .complex = sinh_complex,
};

}  // namespace

extern const Expand sinh_expansion = elementwise<kSinhFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
