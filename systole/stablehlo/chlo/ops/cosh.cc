#include <cmath>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {

HalfExponential half_exponential(Expr x) {
  const double limit = x.is_f64() ? 700 : 80;
  const Expr large = x > limit;
  // Exact, because the exponents are nearly equal.
  const Expr half = 0.5 * exp(where(large, x - limit, x));
  return {half, where(large, 0.0, 0.25 / half), where(large, std::exp(limit), x.constant(1))};
}

Expr half_exp_of_f32(Expr x) { return exp(x + std::log(0.5)); }

namespace ops {
namespace {

Expr cosh(Expr x) {
  if (!x.is_f64()) return half_exp_of_f32(x) + half_exp_of_f32(-x);
  const auto [half, inverse, scale] = half_exponential(abs(x));
  return (half + inverse) * scale;
}

// cosh(x) cos(y) + i sinh(x) sin(y). sin(0) is 0 also where sinh(x) is infinite.
Expr cosh_complex(Expr z) {
  const Expr x = real(z);
  const HalfExponential e = half_exponential(abs(x));
  const Expr sine = sin(imag(z));
  const Expr imaginary = scaled_sinh(x, e) * sine * e.scale;
  return complex((e.half + e.inverse) * cos(imag(z)) * e.scale,
                 where(sine == 0.0, where(is_negative(x), -sine, sine), imaginary));
}

constexpr UnaryFormula kCoshFormula{
    .name = "cosh",
    .floating = cosh,
    .complex = cosh_complex,
};

}  // namespace

extern const Expand cosh_expansion = elementwise<kCoshFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
