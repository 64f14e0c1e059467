#include "systole/hlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

// (atanh(sqrt(z)) / sqrt(z) - 1) / z on [0, 1/4]: Chebyshev fits computed with 50 digits.
constexpr double kSmall32[] = {0.15813754748, 0.064550038224, 0.11478225088, 0.14263242354, 0.20000496015, 0.33333331574};
constexpr double kSmall64[] = {0.21193960857288380058, -0.14605863182836997278, 0.13669262594570178894, 0.011827866119414638837, 0.054544118963807484818, 0.051585020863208204363, 0.058933820225372959169, 0.066658623138564783043, 0.076923473106618037079, 0.090909078314066982525, 0.11111111135028117628, 0.14285714285477815928, 0.20000000000000919275, 0.33333333333333332742};

Expr atanh(Expr x) {
  const Expr size = abs(x);
  const Expr square = x * x;
  const Expr small = x + x * (square * polynomial(square, kSmall32, kSmall64));
  const Expr large = 0.5 * log1p(2.0 * size / (1.0 - size));
  return where(size <= 0.5, small, copy_sign(large, x));
}

constexpr UnaryFormula kFormula{
    .name = "atanh",
    .floating = atanh,
};

}  // namespace

extern const Expand atanh_expansion;
const Expand atanh_expansion = elementwise<kFormula>;

}  // namespace systole::hlo::chlo::ops
