#include "systole/graph/api/random_ops.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_random_normal(LowerContext& c) {
  const Shape shape = random_shape(c);
  const auto dtype = c.attr<DType>("dtype");
  const DType computing = computing_dtype(dtype);
  const int64_t count = shape.num_elements();
  const int64_t pairs = (count + 1) / 2;
  const hlo::Value words = random_bits(c, word_of(computing), {pairs, 2}, reserved_blocks(count));
  const hlo::Value normal = c.b.reshape(normal_from_words(c.b, words, computing), {2 * pairs});
  return {c.b.convert(c.b.reshape(c.b.slice(normal, {0}, {count}), shape), dtype)};
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
