#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_random_uniform(LowerContext& c) {
  return {uniform_from_mantissa(c, c.attr<DType>("dtype"), random_shape(c))};
}

Output uniform_floats(const ShapeInput& shape, const RandomUniformOptions& options) {
  const Input maxval = options.maxval.value_or(Input(1));
  if (is_literal(options.minval, 0) && is_literal(maxval, 1)) {
    return add_random("RandomUniform", shape, options.dtype, options.seed, options.name);
  }
  const CompositionScope scope(shape.input(), options.name, "random_uniform");
  const Output low = options.minval.resolve(options.dtype);
  const Output high = maxval.resolve(options.dtype);
  const Output unit =
      add_random("RandomUniform", shape, options.dtype, options.seed, "RandomUniform");
  const Output value = add(multiply(unit, subtract(high, low)), low);
  // Rounding may give the upper bound itself.
  return where(less(value, high), value, low, scope.result());
}

Output uniform_integers(const ShapeInput& shape, const RandomUniformOptions& options) {
  if (!options.maxval) {
    throw invalid_argument("random_uniform: maxval, got none, expected one for {}", options.dtype);
  }
  const WhereScope where(shape.input().where());
  const Output sizes = resolve("RandomUniformInt", shape);
  const Output low = resolve("RandomUniformInt", options.minval, options.dtype);
  const Output high = resolve("RandomUniformInt", *options.maxval, options.dtype);
  AttrMap attrs = random_attrs(options.seed);
  attrs.emplace("Tout", options.dtype);
  attrs.emplace("T", sizes.dtype());
  return Graph::current()
      .add_node("RandomUniformInt", {sizes, low, high}, std::move(attrs), {}, options.name)
      ->output();
}

}  // namespace

Output random_uniform(const ShapeInput& shape, const RandomUniformOptions& options) {
  return is_integer(options.dtype) ? uniform_integers(shape, options)
                                   : uniform_floats(shape, options);
}

namespace ops {
extern const OpDef op_random_uniform{
    .name = "RandomUniform",
    .doc = "Floats uniform in [0, 1).",
    .inputs = "shape: T",
    .outputs = "output: dtype",
    .attrs = "dtype: type, seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_random,
    .lower = lower_random_uniform,
    .traits = {.blocks_gradient = true, .stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
