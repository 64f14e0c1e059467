#include <numbers>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// sqrt(x^2 + y^2) for x, y >= 0, without intermediate overflow.
Expr hypot(Expr x, Expr y) {
  const Expr large = max(x, y);
  const Expr ratio = min(x, y) / large;
  const Expr square = ratio * ratio;
  const Expr excess = large * (square / (1.0 + sqrt(1.0 + square)));
  return where(large == 0.0, 0.0, large + excess);
}

// log(2 |x + iy|) for numbers so large that squares may overflow.
Expr log_of_twice(Expr x, Expr y) {
  const Expr large = max(x, y);
  const Expr ratio = where(large == kInfinity, 0.0, min(x, y) / large);
  return log(large) + (0.5 * log1p(ratio * ratio) + std::numbers::ln2);
}

}  // namespace

// Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using
// exception handling", 1997. With a the mean of the distances r and s to -1 and 1, x = |re| and
// y = |im|, the parts are sqrt(a^2 - x^2) and log(a + sqrt(a^2 - 1)). Both a - x and a - 1 cancel;
// twice them are `sum` on one side of x = 1 and y^2 * `reciprocals` on the other.
Parts asin_acos_kernel(Expr re, Expr im) {
  const Expr x = abs(re);
  const Expr y = abs(im);
  const Expr r = hypot(x + 1.0, y);
  const Expr s = hypot(abs(x - 1.0), y);
  const Expr a = 0.5 * (r + s);
  const Expr left = r + (x + 1.0);
  const Expr right = s + abs(x - 1.0);
  const Expr sum = y * (y / left) + right;
  const Expr reciprocals = 1.0 / left + 1.0 / right;
  const Expr real_mean = 0.5 * (a + x);
  const Expr imaginary_mean = 0.5 * (a + 1.0);

  const Expr real = where(x <= 1.0, sqrt(sum * real_mean), y * sqrt(reciprocals * real_mean));
  const Expr inside = x < 1.0;
  const Expr above_one = 0.5 * where(inside, y * (y * reciprocals), sum);
  const Expr root =
      where(inside, y * sqrt(reciprocals * imaginary_mean), sqrt(sum * imaginary_mean));

  const Expr huge = max(x, y) >= kHuge;
  return {where(huge, y, real), where(huge, log_of_twice(x, y), log1p(above_one + root))};
}

namespace ops {
namespace {

Expr kernel(Expr z) {
  const Parts w = asin_acos_kernel(real(z), imag(z));
  return complex(w.real, w.imaginary);
}

constexpr UnaryFormula kAsinAcosKernelFormula{
    .name = "_asin_acos_kernel",
    .complex = kernel,
};

}  // namespace

extern const Expand _asin_acos_kernel_expansion = elementwise<kAsinAcosKernelFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
