#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"

namespace systole {

Output zeros_like(const Input& x, const LikeOptions& options) {
  if (options.dtype == DType::invalid || options.dtype == x.dtype()) {
    return add_op("ZerosLike", {x}, options.name);
  }
  return fill(shape(x), constant(0, {.dtype = options.dtype}), {.name = options.name});
}

namespace ops {
extern const OpDef op_zeros_like{
    .name = "ZerosLike",
    .doc = "Zeros of the shape and dtype of its input.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = [](LowerContext& c) { return std::vector{c.b.splat_like(c.input(0), 0)}; },
    .batch = {.rule = batch_first_input},
    .traits = {.blocks_gradient = true, .costs_no_memory = true},
};
}  // namespace ops
}  // namespace systole
