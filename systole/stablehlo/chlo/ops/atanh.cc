#include <numbers>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {

// Kahan, "Branch cuts for complex elementary functions", 1987: log1p(4x / ((1 - x)^2 + y^2)) / 4
// and atan2(2y, (1 - x)(1 + x) - y^2) / 2, with the squares kept from overflow and underflow.
Parts atanh_parts(Expr re, Expr im) {
  const Expr x = abs(re);
  const Expr y = abs(im);
  const Expr gap = 1.0 - x;
  const Expr square = y * y;
  const Expr inner = 0.25 * log1p(4.0 * x / (gap * gap + square));
  const Expr near_pole = 0.5 * (std::numbers::ln2 - log(y));
  const Expr large = max(x, y);
  const Expr ratio = where(large == kInfinity, 0.0, min(x, y) / large);
  const Expr outer = (x / large) / large / (1.0 + ratio * ratio);
  const Expr huge = large >= kHuge;
  const Expr pole = (x == 1.0) & (y < 1 / kHuge);
  const Expr size = where(huge, where(x == kInfinity, 0.0, outer), where(pole, near_pole, inner));
  const Expr angle = 0.5 * atan2(2.0 * y, gap * (1.0 + x) - square);
  const Expr turn = where(huge, std::numbers::pi / 2, angle);
  return {copy_sign(size, re), copy_sign(turn, im)};
}

namespace ops {
namespace {

// (atanh(sqrt(z)) / sqrt(z) - 1) / z on [0, 1/4]: Chebyshev fits computed with 50 digits.
constexpr double kAtanhSmall32[] = {0.15813754748, 0.064550038224, 0.11478225088,
                                    0.14263242354, 0.20000496015,  0.33333331574};
constexpr double kAtanhSmall64[] = {
    0.21193960857288380058,  -0.14605863182836997278, 0.13669262594570178894,
    0.011827866119414638837, 0.054544118963807484818, 0.051585020863208204363,
    0.058933820225372959169, 0.066658623138564783043, 0.076923473106618037079,
    0.090909078314066982525, 0.11111111135028117628,  0.14285714285477815928,
    0.20000000000000919275,  0.33333333333333332742};

Expr atanh(Expr x) {
  const Expr size = abs(x);
  const Expr square = x * x;
  const Expr small = x + x * (square * polynomial(square, kAtanhSmall32, kAtanhSmall64));
  const Expr large = 0.5 * log1p(2.0 * size / (1.0 - size));
  return where(size <= 0.5, small, copy_sign(large, x));
}

Expr atanh_complex(Expr z) {
  const Parts w = atanh_parts(real(z), imag(z));
  return complex(w.real, w.imaginary);
}

constexpr UnaryFormula kAtanhFormula{
    .name = "atanh",
    .floating = atanh,
    .complex = atanh_complex,
};

}  // namespace

extern const Expand atanh_expansion = elementwise<kAtanhFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
