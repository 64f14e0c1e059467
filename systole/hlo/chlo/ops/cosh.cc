#include <numbers>

#include "systole/hlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace ops {
namespace {

Expr cosh(Expr x) {
  const auto [half_exp, inverse] = half_exponential(abs(x));
  return half_exp + inverse;
}

constexpr UnaryFormula kFormula{
    .name = "cosh",
    .floating = cosh,
};

}  // namespace
}  // namespace ops

// Where exp(x) would overflow, exp(x - 1) does not, and x - 1 is exact.
HalfExponential half_exponential(Expr x) {
  const Expr large = x > (x.is_f64() ? 700.0 : 80.0);
  const Expr power = exp(where(large, x - 1.0, x));
  const Expr half = power * where(large, x.constant(std::numbers::e / 2), 0.5);
  return {half, 0.25 / half};
}

namespace ops {

extern const Expand cosh_expansion;
const Expand cosh_expansion = elementwise<kFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
