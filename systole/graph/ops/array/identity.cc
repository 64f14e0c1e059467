#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"

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
    .graph_def = {.aliases = "Snapshot PreventGradient"},
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = [](LowerContext& c) { return std::vector{c.input(0)}; },
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
    .constant_rule = same_elements,
    .batch = {.rule = batch_elementwise},
    .traits = {.moves_elements = true, .passes_on = PassesOn::value},
};
}  // namespace ops
}  // namespace systole
