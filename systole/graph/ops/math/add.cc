#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> add_gradient(GradientContext& c) {
  return broadcast_gradients(c, c.grad(), c.grad());
}

}  // namespace

Output add(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Add", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_add{
    .name = "Add",
    .doc = "x + y.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .graph_def = {.aliases = "AddV2"},
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_binary<hlo::Opcode::add>,
    .gradient = add_gradient,
    .constant_rule =
        [](const Output& y) {
          return elementwise_elements(y, [](int64_t a, int64_t b) { return KnownElement(a + b); });
        },
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
