#include <numbers>

#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// Chebyshev fits computed with 50 digits: lgamma(1 + z) / z on [-0.5, 0.5], lgamma(2 + z) / z on
// [-0.3, 1]; about the minimum, (lgamma(kDigammaRoot + d) - kMinimum) / d^2 on [-0.25, 0.3].
constexpr double kNearOne32[] = {0.17742839040, -0.17838466453, 0.036274679272, -0.050030495012,
                                 0.10988377370, -0.11889086737, 0.12445605464,  -0.14335565573,
                                 0.16961446008, -0.20741544980, 0.27057944837,  -0.40068515589,
                                 0.82246704271, -0.57721566614};
constexpr double kNearOne64[] = {
    0.25001640963788687556,   -0.24134519253805737303,  -0.21990054046608104982,
    0.19662943603137411722,   0.19331242091101379346,   -0.17545100195447957208,
    -0.017221996443625895758, 0.0056271981340088182178, 0.060699882516704864768,
    -0.059672096114502880310, 0.047207949581154034844,  -0.050553619164615071835,
    0.055923603007143955007,  -0.059079351157714426427, 0.062466019966455370949,
    -0.066646348488269149567, 0.071435314566135045693,  -0.076933891687975664855,
    0.083353728527168881721,  -0.090953959379485123393, 0.10009946106870660491,
    -0.11133426744819344603,  0.12550966945361255711,   -0.14404989674293043499,
    0.16955717699821544481,   -0.20738555102889635519,  0.27058080842778026485,
    -0.40068563438653067654,  0.82246703342411322499,   -0.57721566490153286103};
constexpr double kNearTwo32[] = {-1.0855949288e-5, 6.5716725568e-5,  -0.00020747700755,
                                 0.00050994127571, -0.0011957833608, 0.0028912247938,
                                 -0.0073854103765, 0.020580757974,   -0.067352302858,
                                 0.32246703421,    0.42278433510};
constexpr double kNearTwo64[] = {
    -2.2893474997202475476e-10,  2.3141996858579137165e-9,   -1.1329959912410962685e-8,
    3.6889417923667219001e-8,    -9.3974884877128702019e-8,  2.1059603839238485877e-7,
    -4.5023496609849624700e-7,   9.5607551275298053977e-7,   -2.0394373750052271165e-6,
    4.3747904190133256835e-6,    -9.4394348709896178431e-6,  0.000020507208517551956511,
    -0.000044926240760021012521, 0.000099457513700380092530, -0.00022315475833166356391,
    0.00050966952469121958856,   -0.0011927539117039109298,  0.0028905103307428378415,
    -0.0073855510286740162751,   0.020580808427784533444,    -0.067352301053198094765,
    0.32246703342411321828,      0.42278433509846713939};
constexpr double kMinimum32[] = {
    -0.0013012538747, 0.0024072174356, -0.0037070071488, 0.0060919437966, -0.010313030203,
    0.017970883617,   -0.032788562973, 0.064624938412,   -0.14758772289,  0.48383612273};
constexpr double kMinimum64[] = {
    -0.000014052234559852449880, 0.000028420728655947100258,  -0.000039976204279730941888,
    0.000059569319964878129292,  -0.000092597841162325680147, 0.00014409208946947939746,
    -0.00022466561692022132295,  0.00035191225961748307888,   -0.00055419442212405926644,
    0.00087823264563646094184,   -0.0014022514598184224969,   0.0022597648231911637128,
    -0.0036845696081020226354,   0.0061005360205166120439,    -0.010314223036638180740,
    0.017970675115210408477,     -0.032788541088481298655,    0.064624940238912752614,
    -0.14758772299453070204,     0.48383612272381058521};
// log(2); the first part is short, so that products with exponents are exact.
constexpr SplitConstant kLn2For32{0.693359375, -2.1219444005469058e-4};
constexpr SplitConstant kLn2For64{6.93147180369123816490e-01, 1.90821492927058770002e-10};
constexpr double kLgammaMinimum = -1.2148629053584961e-1;
// Stirling's series in 1 / x^2: B(2k) / (2k (2k - 1)).
constexpr double kStirling32[] = {7.9365079365079365e-4, -2.7777777777777778e-3,
                                  8.3333333333333333e-2};
constexpr double kStirling64[] = {
    1.7964437236883057e-1,  -2.9550653594771242e-2, 6.4102564102564103e-3,
    -1.9175269175269175e-3, 8.4175084175084175e-4,  -5.9523809523809524e-4,
    7.9365079365079365e-4,  -2.7777777777777778e-3, 8.3333333333333333e-2};

// log(x) for x >= 8 as a sum of two numbers, the first of which is exact.
TwoPart split_log(Expr x) {
  const auto [power, rest] = split_exponent(x);
  const SplitConstant ln2 = x.is_f64() ? kLn2For64 : kLn2For32;
  return {power * ln2.high, power * ln2.low + log(rest)};
}

// x >= 8: (x - 1/2) (log(x) - 1) + log(2 pi) / 2 - 1/2 + series.
Expr stirling(Expr x) {
  const TwoPart logarithm = split_log(x);
  const Expr inverse = 1.0 / x;
  const Expr series = inverse * polynomial(inverse * inverse, kStirling32, kStirling64);
  const Expr factor = x - 0.5;
  const Expr high = logarithm.high - 1.0;
  // Where the first product may overflow although the sum does not, only the factors count.
  return where(x > kHuge, factor * (high + logarithm.low),
               factor * high + (factor * logarithm.low + (series + 0.41893853320467274)));
}

// lgamma of |x|, and of x itself if |x| <= 1/2. Below 8 it is lgamma(y) + log(product) with y = |x|
// - n in [2, 3) and the product of the n numbers in between.
Expr lgamma_right(Expr x) {
  const Expr size = abs(x);
  const Expr tiny = size <= 0.5;
  const Expr steps = max(floor(size) - 2.0, 0.0);
  Expr product = size.constant(1);
  for (int k = 1; k <= 5; ++k) product = product * where(steps >= k, size - k, 1.0);
  const Expr logarithm = log(where(tiny, size, product));

  const Expr z = where(tiny, x, size - 1.0);
  const Expr near_one = z * polynomial(z, kNearOne32, kNearOne64);
  const Expr y = size - steps - 2.0;
  const Expr near_two = y * polynomial(y, kNearTwo32, kNearTwo64);
  const Expr d = distance(size, kDigammaRoot);
  const Expr middle = d * d * polynomial(d, kMinimum32, kMinimum64) + kLgammaMinimum;
  const Expr core = where(size < 1.25, near_one, where(size < 1.75, middle, near_two));
  const Expr inner = core + where(tiny, -logarithm, logarithm);
  return where(size >= 8.0, stirling(size), inner);
}

}  // namespace

// Below -1/2 by reflection; infinite at the poles. The zeros between the poles have only absolute
// accuracy.
Expr lgamma(Expr x) {
  const Expr size = abs(x);
  const Expr right = lgamma_right(x);
  const Expr fraction = size - floor(size);
  const Expr sine = sin(std::numbers::pi * min(fraction, 1.0 - fraction));
  const Expr reflected = log(std::numbers::pi / (size * sine)) - right;
  const Expr pole = size == floor(size);
  const Expr left = where(pole, kInfinity, reflected);
  return where(size == kInfinity, kInfinity, where(x < -0.5, left, right));
}

namespace ops {
namespace {

constexpr UnaryFormula kLgammaFormula{
    .name = "lgamma",
    .floating = chlo::lgamma,
};

}  // namespace

extern const Expand lgamma_expansion = elementwise<kLgammaFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
