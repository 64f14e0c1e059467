#include <numbers>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

// log(x + sqrt(x^2 - 1)) by way of t = x - 1, which is exact where that matters.
Expr acosh(Expr x) {
  const Expr huge = x >= kHuge;
  const Expr t = x - 1.0;
  const Expr result = log1p(where(huge, x, t + sqrt(t * (x + 1.0))));
  return where(x < 1.0, kNan, where(huge, result + std::numbers::ln2, result));
}

Expr acosh_complex(Expr z) {
  const Parts w = asin_acos_kernel(real(z), imag(z));
  return complex(w.imaginary, copy_sign(atan2(w.real, real(z)), imag(z)));
}

constexpr UnaryFormula kAcoshFormula{
    .name = "acosh",
    .floating = acosh,
    .complex = acosh_complex,
};

}  // namespace

extern const Expand acosh_expansion = elementwise<kAcoshFormula>;

}  // namespace systole::hlo::chlo::ops
