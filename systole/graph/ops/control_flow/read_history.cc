#include "systole/graph/ops/control_flow/loop_gradient.h"

namespace systole {
namespace {

std::vector<TensorType> infer_read_history(const InferContext& c) {
  const Dims& dims = c.input(0).shape.dims();
  return {{c.input(0).dtype, Shape(Dims(dims.begin() + 1, dims.end()))}};
}

void check_row_count(std::string_view op, const Shape& elem, const Shape& like) {
  if (elem[0] == like[0] && like[0] > 0) return;
  throw invalid_argument("{}: elems, got {} rows, expected {}", op, elem[0],
                         like[0] == 0 ? "one or more" : std::to_string(like[0]));
}

std::vector<hlo::Value> lower_read_history(LowerContext& c) {
  if (c.num_inputs() == 3) {
    check_row_count(c.attr<std::string>("_function"), c.input(0).shape(), c.input(2).shape());
  }
  Dims sizes = c.input(0).shape().dims();
  sizes[0] = 1;
  std::vector<hlo::Value> starts(sizes.size(), c.b.scalar(c.input(1).dtype(), 0));
  starts[0] = c.input(1);
  const hlo::Value entry = c.b.dynamic_slice(c.input(0), starts, sizes);
  return {c.b.reshape(entry, Shape(Dims(sizes.begin() + 1, sizes.end())))};
}

std::vector<Output> read_history_gradient(GradientContext& c) {
  std::vector<Output> gradients(static_cast<size_t>(c.node.num_inputs()));
  gradients[0] = write_history(c.input(0), c.grad(), c.input(1));
  return gradients;
}

}  // namespace

Output read_history(Output history, Output index) {
  return Graph::current().add_node("_ReadHistory", {history, index})->output();
}

Output read_row(std::string_view op, Output elem, Output index, Output like) {
  return Graph::current()
      .add_node("_ReadHistory", {elem, index, like}, {{"_function", std::string(op)}})
      ->output();
}

namespace ops {
extern const OpDef op_read_history{
    .name = "_ReadHistory",
    .doc = "An entry of a stack of values.",
    .inputs = "history: T, index: Tidx, like: Tlike",
    .outputs = "entry: T",
    .attrs = "Tlike: list(type), _function: string = ''",
    .graph_def = {.tensorflow = TensorFlowOp::none},
    .infer = infer_read_history,
    .lower = lower_read_history,
    .gradient = read_history_gradient,
};
}  // namespace ops
}  // namespace systole
