#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/op_def.h"

namespace systole {

Output identity(const Input& x, const NameOptions& options) {
  return add_op("Identity", {x}, options.name);
}

namespace ops {
extern const OpDef op_identity;
const OpDef op_identity{
    .name = "Identity",
    .doc = "Its input.",
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = [](LowerContext& c) { return std::vector{c.input(0)}; },
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
};
}  // namespace ops
}  // namespace systole
