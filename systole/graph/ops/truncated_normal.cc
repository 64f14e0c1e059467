#include <numbers>
#include <span>

#include "systole/graph/random_lowering.h"
#include "systole/graph/random_ops.h"
#include "systole/graph/random_state.h"

namespace systole {
namespace {

// The inverse error function near 0, as x * p(-log(1 - x^2) - centre): |x| < 0.9966 in f32, 0.999
// in f64; here |x| is at most erf(sqrt(2)) = 0.9545. Source: Giles, "Approximating the erfinv
// function", GPU Computing Gems 2, 2011.
constexpr double kCentreF32 = 2.5;
constexpr double kPolynomialF32[] = {
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727,    1.50140941,
};
constexpr double kCentreF64 = 3.125;
constexpr double kPolynomialF64[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
    1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
    6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
    2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
    4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
    0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
    0.24015818242558961693,     1.6536545626831027356,
};

hlo::Value inverse_erf(hlo::Builder& b, hlo::Value x) {
  const bool wide = x.dtype() == DType::f64;
  const std::span<const double> polynomial =
      wide ? std::span<const double>(kPolynomialF64) : std::span<const double>(kPolynomialF32);
  const hlo::Value minus_square = b.negate(b.multiply(x, x));
  const hlo::Value w = affine(b, b.unary(hlo::Opcode::log_plus_one, minus_square), -1,
                              wide ? -kCentreF64 : -kCentreF32);
  hlo::Value p = b.splat_like(x, polynomial[0]);
  for (const double coefficient : polynomial.subspan(1)) {
    p = b.add(b.multiply(p, w), b.splat_like(x, coefficient));
  }
  return b.multiply(p, x);
}

std::vector<hlo::Value> lower(LowerContext& c) {
  constexpr double kBound = 2;
  hlo::Builder& b = c.b;
  const Shape shape = random_shape(c);
  const auto dtype = c.attr<DType>("dtype");
  const DType computing = computing_dtype(dtype);
  // Midpoints of equal cells of (-1, 1): symmetric, and never at an end.
  const double cell = std::ldexp(1.0, computing == DType::f64 ? -52 : -23);
  const hlo::Value uniform = affine(b, uniform_from_mantissa(c, computing, shape), 2, cell - 1);
  const double inside = std::erf(kBound / std::numbers::sqrt2);
  const hlo::Value x = inverse_erf(b, affine(b, uniform, inside, 0));
  const hlo::Value normal = affine(b, x, std::numbers::sqrt2, 0);
  const hlo::Value low = b.scalar(computing, -kBound);
  const hlo::Value high = b.scalar(computing, kBound);
  return {b.convert(b.op(hlo::Opcode::clamp, {low, normal, high})->result(), dtype)};
}

}  // namespace

Output truncated_normal(const ShapeInput& shape, const TruncatedNormalOptions& options) {
  return random_with_moments(
      "TruncatedNormal", shape,
      {options.mean, options.stddev, options.dtype, options.seed, options.name});
}

namespace ops {
extern const OpDef op_truncated_normal;
const OpDef op_truncated_normal{
    .name = "TruncatedNormal",
    .doc = "Normally distributed numbers of mean 0 within two standard deviations.",
    .infer = infer_random,
    .lower = lower,
    .blocks_gradient = true,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
