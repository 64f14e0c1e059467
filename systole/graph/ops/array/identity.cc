#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/lowering/constant_value.h"
#include "systole/graph/op_def.h"

namespace systole {

Output identity(const Input& x, const NameOptions& options) {
  return add_op("Identity", {x}, options.name);
}

namespace ops {
extern const OpDef op_identity{
    .name = "Identity",
    .doc = "Its input.",
    .inputs = "input: T",
    .outputs = "output: T",
    .aliases = "Snapshot PreventGradient",
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = [](LowerContext& c) { return std::vector{c.input(0)}; },
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
    .constant_rule = same_elements,
    .batch_rule = batch_elementwise,
    .moves_elements = true,
    .passes_on = PassesOn::value,
};
}  // namespace ops
}  // namespace systole
