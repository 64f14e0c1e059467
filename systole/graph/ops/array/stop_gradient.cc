#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"

namespace systole {

Output stop_gradient(const Input& x, const NameOptions& options) {
  return add_op("StopGradient", {x}, options.name);
}

namespace ops {
extern const OpDef op_stop_gradient{
    .name = "StopGradient",
    .doc = "Its input, through which no gradient flows.",
    .inputs = "input: T",
    .outputs = "output: T",
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = [](LowerContext& c) { return std::vector{c.input(0)}; },
    .constant_rule = same_elements,
    .batch = {.rule = batch_first_input},
    .traits = {.blocks_gradient = true, .moves_elements = true, .passes_on = PassesOn::elements},
};
}  // namespace ops
}  // namespace systole
