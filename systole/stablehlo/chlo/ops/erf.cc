#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// Chebyshev fits computed with 50 digits: erf(x) / x - 1 in x^2 on [0, 1], and, for f32 only,
// log(erfc(x)) / x on [1, 4].
constexpr double kErfCore32[] = {7.8824971101e-5, -0.00080188549928, 0.0051893119427,
                                 -0.026854328796, 0.11283597463,     -0.37612626904,
                                 0.12837916588};
constexpr double kErfCore64[] = {
    -4.2320376764874592264e-12,  8.7097552328517897160e-11, -1.2164764337224505578e-9,
    1.4792435426962471013e-8,    -1.6364645854816387701e-7, 1.6462045711013025157e-6,
    -0.000014925647581008592978, 0.00012055332903350668265, -0.00085483270219454273153,
    0.0052239776254234543525,    -0.026866170645129854479,  0.11283791670955120298,
    -0.37612638903183752380,     0.12837916709551257389};
constexpr double kTail32[] = {1.093036234e-6, -3.5303769938e-5, 0.00050627367269, -0.0043365102922,
                              0.025223063267, -0.10797904012,   -0.63405084302,   -1.1289343147};
constexpr double kTwoOverRootPi = 1.1283791670955126;

// Returns erfc(x) for x >= 1, accurate enough for erf(x) = 1 - erfc(x).
Expr tail(Expr x) {
  if (x.is_f64()) return erfc_tail(x);
  const Expr bounded = min(x, 4.0);
  return exp(bounded * polynomial(bounded, kTail32));
}

}  // namespace

// The small product of a tiny x could be denormal, and be flushed.
Expr erf_core(Expr x) {
  return where(abs(x) < 0x1p-60, x * kTwoOverRootPi,
               x + x * polynomial(x * x, kErfCore32, kErfCore64));
}

Expr erf(Expr x) {
  const Expr size = abs(x);
  return where(size < 1.0, erf_core(x), copy_sign(1.0 - tail(size), x));
}

namespace ops {
namespace {

constexpr UnaryFormula kErfFormula{
    .name = "erf",
    .floating = chlo::erf,
};

}  // namespace

extern const Expand erf_expansion = elementwise<kErfFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
