#include <numbers>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

// (asinh(sqrt(z)) / sqrt(z) - 1) / z on [0, 1/4]: Chebyshev fits computed with 50 digits.
constexpr double kAsinhSmall32[] = {0.0099572509896, -0.020539821377, 0.030159045880,
                                    -0.044630280052, 0.074999737100,  -0.16666666577};
constexpr double kAsinhSmall64[] = {
    -0.0015026335072523795095, 0.0041440666664590714634,  -0.0064783557715480586422,
    0.0081837868184416039833,  -0.0097260563780384690549, 0.011547529817394642262,
    -0.013964489019535602720,  0.017352744552177938251,   -0.022372158373239637760,
    0.030381944428969857750,   -0.044642857142683373551,  0.074999999999999231947,
    -0.16666666666666666610};

// log(x + sqrt(x^2 + 1)) for x > 1/2, as a log1p.
Expr large(Expr x) {
  const Expr huge = x >= kHuge;
  const Expr square = x * x;
  const Expr result = log1p(where(huge, x, x + square / (1.0 + sqrt(1.0 + square))));
  return where(huge, result + std::numbers::ln2, result);
}

Expr asinh(Expr x) {
  const Expr size = abs(x);
  const Expr square = x * x;
  const Expr small = size + size * (square * polynomial(square, kAsinhSmall32, kAsinhSmall64));
  return copy_sign(where(size <= 0.5, small, large(size)), x);
}

// asinh(z) = -i asin(iz).
Expr asinh_complex(Expr z) {
  const Parts w = asin_acos_kernel(imag(z), real(z));
  return complex(copy_sign(w.imaginary, real(z)), atan2(imag(z), w.real));
}

constexpr UnaryFormula kAsinhFormula{
    .name = "asinh",
    .floating = asinh,
    .complex = asinh_complex,
};

}  // namespace

extern const Expand asinh_expansion = elementwise<kAsinhFormula>;

}  // namespace systole::hlo::chlo::ops
