#include "systole/hlo/chlo/special.h"

namespace systole::hlo::chlo::ops {
namespace {

// (sinh(sqrt(z)) / sqrt(z) - 1) / z on [0, 1]: Chebyshev fits computed with 50 digits.
constexpr double kSmall32[] = {2.8062904395e-6, 0.00019838100442, 0.0083333396816, 0.16666666647};
constexpr double kSmall64[] = {2.8445276524447323963e-15, 7.6466253184172504391e-13, 1.6059048396945078711e-10, 2.5052108364053987429e-8, 2.7557319224040352784e-6, 0.00019841269841269773174, 0.0083333333333333333658, 0.16666666666666666667};

Expr sinh(Expr x) {
  const Expr size = abs(x);
  const Expr square = x * x;
  const Expr small = x + x * (square * polynomial(square, kSmall32, kSmall64));
  const auto [half_exp, inverse] = half_exponential(size);
  return where(size <= 1.0, small, copy_sign(half_exp - inverse, x));
}

constexpr UnaryFormula kFormula{
    .name = "sinh",
    .floating = sinh,
};

}  // namespace

extern const Expand sinh_expansion;
const Expand sinh_expansion = elementwise<kFormula>;

}  // namespace systole::hlo::chlo::ops
