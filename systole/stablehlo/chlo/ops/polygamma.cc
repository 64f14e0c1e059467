#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

constexpr int kExactFactorials = 12;

// n! for integers n >= 0.
Expr factorial(Expr n) {
  Expr product = n.constant(1);
  for (int k = 2; k <= kExactFactorials; ++k) product = product * where(n >= k, n.constant(k), 1.0);
  return where(n <= kExactFactorials, product, exp(lgamma(n + 1.0)));
}

// (-1)^(n + 1) n! zeta(n + 1, x), the n-th derivative of digamma; NaN where n is not an integer
// >= 0.
Expr polygamma(Expr n, Expr x) {
  const Expr size = factorial(n) * zeta(n + 1.0, x);
  const Expr odd = floor(0.5 * n) * 2.0 != n;
  const Expr derivative = where(odd, size, -size);
  const Expr defined = (n >= 0.0) & (n == floor(n));
  return where(defined, where(n == 0.0, digamma(x), derivative), kNan);
}

constexpr BinaryFormula kPolygammaFormula{
    .name = "polygamma",
    .floating = polygamma,
};

}  // namespace

extern const Expand polygamma_expansion = elementwise<kPolygammaFormula>;

}  // namespace systole::hlo::chlo::ops
