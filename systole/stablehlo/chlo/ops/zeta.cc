#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// B(2j) / (2j)!
constexpr double kBernoulli[] = {
    8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,
    -8.2671957671957672e-7,  2.0876756987868099e-8,   -5.2841901386874932e-10,
    1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15,
    -2.1748686985580619e-16, 5.5090028283602295e-18,  -1.3954464685812523e-19};
constexpr int kTerms = 10;

// The terms from q = a on, by the Euler-Maclaurin formula, as a^-x times the result.
Expr zeta_tail(Expr x, Expr a) {
  Expr factor = x / a;
  Expr sum = a / (x - 1.0) + 0.5;
  const Expr square = a * a;
  for (int j = 0; j < 12; ++j) {
    sum = sum + factor * kBernoulli[j];
    factor = factor * ((x + (2 * j + 1)) * (x + (2 * j + 2)) / square);
  }
  return sum;
}

// (q + k)^-x, corrected to first order for the rounding of q + k.
Expr term(Expr x, Expr q, int k) {
  const Expr sum = q + k;
  const Expr power = pow(sum, -x);
  const Expr lost = q - (sum - k);
  return where((sum >= 1.0) & (lost != 0.0) & (power > 0.0), power - power * (x * (lost / sum)),
               power);
}

}  // namespace

// The sum of (q + n)^-x over n >= 0: ten terms, smallest first, and the tail. Infinite at x = 1 and
// at q = 0, -1, -2...; NaN for x < 1, for q < 0 if x is not an integer, and for q < -4, where the
// tail would start too early.
Expr zeta(Expr x, Expr q) {
  const Expr a = q + kTerms;
  const Expr power = term(x, q, kTerms);
  Expr sum = where(power == 0.0, 0.0, power * zeta_tail(x, a));
  for (int k = kTerms - 1; k >= 0; --k) sum = sum + term(x, q, k);
  const Expr pole = (x == 1.0) | ((q <= 0.0) & (q == floor(q)));
  const Expr undefined = (x < 1.0) | ((q < 0.0) & (x != floor(x))) | (q < -4.0);
  return where(undefined & !pole, kNan, where(pole, kInfinity, where(q == kInfinity, 0.0, sum)));
}

namespace ops {
namespace {

constexpr BinaryFormula kZetaFormula{
    .name = "zeta",
    .floating = chlo::zeta,
};

}  // namespace

extern const Expand zeta_expansion = elementwise<kZetaFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
