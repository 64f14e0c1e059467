#include "systole/graph/ops/control_flow/loop_gradient.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_write_history(LowerContext& c) {
  Dims sizes = c.input(0).shape().dims();
  sizes[0] = 1;
  std::vector<hlo::Value> starts(sizes.size(), c.b.scalar(c.input(2).dtype(), 0));
  starts[0] = c.input(2);
  // -0 changes nothing that it is added to, so that a sum with this one is an update in place.
  const hlo::Value zeros = c.b.splat_like(c.input(0), is_floating(c.input(0).dtype()) ? -0.0 : 0);
  return {c.b.dynamic_update_slice(zeros, c.b.reshape(c.input(1), Shape(sizes)), starts)};
}

std::vector<Output> write_history_gradient(GradientContext& c) {
  return {Output(), read_history(c.grad(), c.input(2)), Output()};
}

}  // namespace

Output write_history(Output like, Output value, Output index) {
  return Graph::current().add_node("_WriteHistory", {like, value, index})->output();
}

namespace ops {
extern const OpDef op_write_history{
    .name = "_WriteHistory",
    .doc = "Zeros, but for one entry of a stack of values.",
    .inputs = "like: T, value: T, index: Tidx",
    .outputs = "stack: T",
    .graph_def = {.tensorflow = TensorFlowOp::none},
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = lower_write_history,
    .gradient = write_history_gradient,
};
}  // namespace ops
}  // namespace systole
