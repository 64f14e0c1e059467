#include <numbers>

#include "systole/hlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

// log(x + sqrt(x^2 - 1)) by way of t = x - 1, which is exact where that matters.
Expr acosh(Expr x) {
  const Expr huge = x >= kHuge;
  const Expr t = x - 1.0;
  const Expr result = log1p(where(huge, x, t + sqrt(t * (x + 1.0))));
  return where(x < 1.0, kNan, where(huge, result + std::numbers::ln2, result));
}

constexpr UnaryFormula kFormula{
    .name = "acosh",
    .floating = acosh,
};

}  // namespace

extern const Expand acosh_expansion;
const Expand acosh_expansion = elementwise<kFormula>;

}  // namespace systole::hlo::chlo::ops
