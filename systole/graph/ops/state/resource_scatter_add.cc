#include "systole/graph/lowering/rows.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/graph/ops/state/variable_ops.h"

namespace systole {
namespace {

std::vector<TensorType> infer_resource_scatter_add(const InferContext& c) {
  const Node& handle = variable_node(c.inputs[0]);
  check_rows(c, handle, /*indices=*/1, /*rows=*/2);
  return {};
}

std::vector<hlo::Value> lower_resource_scatter_add(LowerContext& c) {
  const Node& variable = variable_node(c.node.input(0));
  const hlo::Value before = c.lowering.read_variable(variable, /*at_start=*/false);
  c.lowering.assign_variable(variable, add_rows(c.b, before, c.input(1), c.input(2)));
  return {};
}

}  // namespace

namespace ops {
extern const OpDef op_resource_scatter_add{
    .name = "ResourceScatterAdd",
    .doc = "Rows are added to those of a variable that have their numbers.",
    .inputs = "resource: resource, indices: Tindices, updates: dtype",
    .infer = infer_resource_scatter_add,
    .lower = lower_resource_scatter_add,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
