#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/graph/ops/state/variable_ops.h"

namespace systole {
namespace {

std::vector<TensorType> infer_read_variable_op(const InferContext& c) {
  return {variable_type(variable_node(c.inputs[0]))};
}

std::vector<hlo::Value> lower_read_variable_op(LowerContext& c) {
  const bool at_start = c.attr<bool>("_snapshot");
  return {c.lowering.read_variable(variable_node(c.node.input(0)), at_start)};
}

std::vector<Output> import_read_variable_op(const ImportContext& c) {
  if (c.whole_graph) return c.add({c.input(0)}, c.attrs);
  return {c.variable().value()};
}

}  // namespace

namespace ops {
extern const OpDef op_read_variable_op{
    .name = "ReadVariableOp",
    .doc = "The value of a variable: at the start of the run, or at this point of it.",
    .inputs = "resource: resource",
    .outputs = "value: dtype",
    .attrs = "_snapshot: bool = true",
    .graph_def = {.import_node = import_read_variable_op},
    .infer = infer_read_variable_op,
    .lower = lower_read_variable_op,
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
    .traits = {.stateful = true, .passes_on = PassesOn::elements},
};
}  // namespace ops
}  // namespace systole
