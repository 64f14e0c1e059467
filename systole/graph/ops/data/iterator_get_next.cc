#include "systole/graph/core/host_op.h"

namespace systole {
namespace {

// "output_types" are TensorFlow's names; "output_shapes" has a rank and its dimensions for each.
std::vector<TensorType> infer_iterator_get_next(const InferContext& c) {
  const auto& names = c.attr<std::vector<std::string>>("output_types");
  const auto& shapes = c.attr<std::vector<int64_t>>("output_shapes");
  std::vector<TensorType> types;
  size_t next = 0;
  for (const std::string& name : names) {
    const size_t rank = next < shapes.size() ? static_cast<size_t>(shapes[next++]) : 0;
    if (rank > shapes.size() - next) {
      throw invalid_argument("output_shapes, got {} numbers, expected a rank and dimensions for {}",
                             shapes.size(), names.size());
    }
    const auto begin = shapes.begin() + static_cast<std::ptrdiff_t>(next);
    types.push_back(
        {dtype_from_tf(name), Shape(Dims(begin, begin + static_cast<std::ptrdiff_t>(rank)))});
    next += rank;
  }
  return types;
}

}  // namespace

namespace ops {
extern const OpDef op_iterator_get_next{
    .name = "IteratorGetNext",
    .doc = "The next element of a data set, a tensor a component.",
    .outputs = "components: output_types",
    .attrs = "output_types: list(string), output_shapes: list(int)",
    .graph_def = {.impossible = "its data set is part of the program",
                  .tensorflow = TensorFlowOp::other},
    .infer = infer_iterator_get_next,
    .host = kernel_of_session,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
