#include <cmath>
#include <numbers>

#include "systole/graph/api/random_ops.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_truncated_normal(LowerContext& c) {
  constexpr double kBound = 2;
  hlo::Builder& b = c.b;
  const Shape shape = random_shape(c);
  const auto dtype = c.attr<DType>("dtype");
  const DType computing = computing_dtype(dtype);
  // Midpoints of equal cells of (-1, 1): symmetric, and never at an end.
  const double cell = std::ldexp(1.0, computing == DType::f64 ? -52 : -23);
  const hlo::Value uniform = affine(b, uniform_from_mantissa(c, computing, shape), 2, cell - 1);
  const double inside = std::erf(kBound / std::numbers::sqrt2);
  const hlo::Value x = hlo::chlo::expand(b, "erf_inv", {affine(b, uniform, inside, 0)});
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
extern const OpDef op_truncated_normal{
    .name = "TruncatedNormal",
    .doc = "Normally distributed numbers of mean 0 within two standard deviations.",
    .inputs = "shape: T",
    .outputs = "output: dtype",
    .attrs = "dtype: type, seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_random,
    .lower = lower_truncated_normal,
    .traits = {.blocks_gradient = true, .stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
