#include <numbers>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

// Uniform in (0, 1] with 24 or 53 random bits, from words of 32 or 64: the logarithm is finite and
// its tail the longest that the format has.
hlo::Value uniform_above_zero(hlo::Builder& b, hlo::Value words, DType dtype) {
  const int bits = dtype == DType::f64 ? 53 : 24;
  const auto drop = static_cast<double>(dtype_info(words.dtype()).bits - bits);
  const hlo::Value kept =
      b.binary(hlo::Opcode::shift_right_logical, words, b.splat_like(words, drop));
  const double ulp = std::ldexp(1.0, -bits);
  return affine(b, b.convert(kept, dtype), ulp, ulp);
}

// Two uniform numbers give two normal ones. Source: Box and Muller, "A note on the generation of
// random normal deviates", 1958.
hlo::Value standard_normal(LowerContext& c, DType dtype, int64_t count) {
  hlo::Builder& b = c.b;
  const int64_t half = (count + 1) / 2;
  const DType word = dtype == DType::f64 ? DType::u64 : DType::u32;
  const hlo::Value words = random_bits(c, word, {2, half});
  const hlo::Value uniform = uniform_above_zero(b, words, dtype);
  const auto row = [&](int64_t i) {
    return b.reshape(b.slice(uniform, {i, 0}, {i + 1, half}), {half});
  };
  const hlo::Value squared = affine(b, b.unary(hlo::Opcode::log, row(0)), -2, 0);
  const hlo::Value radius = b.unary(hlo::Opcode::sqrt, squared);
  const hlo::Value angle = affine(b, row(1), 2 * std::numbers::pi, 0);
  const hlo::Value both[] = {b.multiply(radius, b.unary(hlo::Opcode::cosine, angle)),
                             b.multiply(radius, b.unary(hlo::Opcode::sine, angle))};
  return b.slice(b.concatenate(both, 0), {0}, {count});
}

std::vector<hlo::Value> lower_random_normal(LowerContext& c) {
  const Shape shape = random_shape(c);
  const auto dtype = c.attr<DType>("dtype");
  const hlo::Value flat = standard_normal(c, computing_dtype(dtype), shape.num_elements());
  return {c.b.convert(c.b.reshape(flat, shape), dtype)};
}

}  // namespace

Output random_normal(const ShapeInput& shape, const RandomNormalOptions& options) {
  return random_with_moments(
      "RandomStandardNormal", shape,
      {options.mean, options.stddev, options.dtype, options.seed, options.name});
}

namespace ops {
extern const OpDef op_random_normal{
    .name = "RandomStandardNormal",
    .doc = "Normally distributed numbers of mean 0 and variance 1.",
    .inputs = "shape: T",
    .outputs = "output: dtype",
    .attrs = "dtype: type, seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_random,
    .lower = lower_random_normal,
    .traits = {.blocks_gradient = true, .stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
