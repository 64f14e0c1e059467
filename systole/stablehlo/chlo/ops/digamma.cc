#include <numbers>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// digamma(y) / (y - kDigammaRoot) in y - 2 on [1, 3]: Chebyshev fits computed with 50 digits.
constexpr double kDigammaCore32[] = {
    6.3689152086e-5,   -0.00011889357091, -9.1294405700e-7, -2.8264963160e-5, 0.00041550671596,
    -0.00079243407465, 0.0013187803543,   -0.0026888273796, 0.0055626911273,  -0.011349512986,
    0.023445965683,    -0.049549977466,   0.10899998248,    -0.26073898357,   0.78530753808};
constexpr double kDigammaCore64[] = {
    -5.4953159426450676031e-9,  1.0254404239698909782e-8,    2.0706046941204381080e-8,
    -3.6074402214654532419e-8,  -6.6951401511394141654e-8,   1.1655551107493253794e-7,
    4.5947441204602487194e-8,   -5.8532945167724123288e-8,   -2.5322818057993419885e-7,
    4.6426830098134789121e-7,   -5.8642784633173660420e-7,   1.2098986471677345711e-6,
    -2.6458714090920028592e-6,  5.2699219568162706190e-6,    -0.000010435770943228891620,
    0.000020891220143025210964, -0.000041847876930541158268, 0.000083779803757281128859,
    -0.00016781483194783504294, 0.00033643234956666134305,   -0.00067531342094954478058,
    0.0013581421936730543226,   -0.0027395728785465468260,   0.0055522541711051985905,
    -0.011338432553570059135,   0.023447309597734074164,     -0.049551032917667269238,
    0.10899991701762611932,     -0.26073895468300142945,     0.78530753860410527341};
constexpr SplitConstant kRootMinusOne{0.46163214496836235679, -1.5522348162858677e-17};
// The asymptotic series in 1 / x^2: B(2k) / 2k.
constexpr double kSeries32[] = {-4.1666666666666667e-3, 3.9682539682539683e-3,
                                -8.3333333333333333e-3, 8.3333333333333333e-2};
constexpr double kSeries64[] = {
    -4.4325980392156863e-1, 8.3333333333333333e-2, -2.1092796092796093e-2, 7.5757575757575758e-3,
    -4.1666666666666667e-3, 3.9682539682539683e-3, -8.3333333333333333e-3, 8.3333333333333333e-2};

// x > 0. Below 3 expanded around the root, where the relative error stays small. Above, by
// digamma(x) = digamma(x - n) + 1 / (x - 1) + ... + 1 / (x - n) with x - n in [2, 3), up to the
// range of the series.
Expr digamma_right(Expr x) {
  const int begin = x.is_f64() ? 10 : 6;
  const Expr steps = max(floor(x) - 2.0, 0.0);
  Expr sum = where(x < 1.0, -1.0 / x, 0.0);
  for (int k = begin - 3; k >= 1; --k) sum = sum + where(steps >= k, 1.0 / (x - k), 0.0);
  const Expr d = where(x < 1.0, distance(x, kRootMinusOne), distance(x - steps, kDigammaRoot));
  const Expr center = where(x < 1.0, x - 1.0, x - steps - 2.0);
  const Expr inner = d * polynomial(center, kDigammaCore32, kDigammaCore64) + sum;

  const Expr inverse = 1.0 / x;
  const Expr square = inverse * inverse;
  const Expr series = square * polynomial(square, kSeries32, kSeries64);
  const Expr outer = log(x) - (0.5 * inverse + series);
  return where(x >= begin, outer, inner);
}

}  // namespace

// Below 0 by reflection; NaN at the poles 0, -1, -2... The zeros between the poles have only
// absolute accuracy.
Expr digamma(Expr x) {
  const Expr left = x <= 0.0;
  const Expr right = digamma_right(where(left, 1.0 - x, x));
  const Expr fraction = x - round(x);
  const Expr reflected = right - std::numbers::pi / tan(std::numbers::pi * fraction);
  return where(left, where(fraction == 0.0, kNan, reflected), right);
}

namespace ops {
namespace {

constexpr UnaryFormula kDigammaFormula{
    .name = "digamma",
    .floating = chlo::digamma,
};

}  // namespace

extern const Expand digamma_expansion = elementwise<kDigammaFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
