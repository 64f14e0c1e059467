#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kSplitAxis, kSplitValue };

// The size of each part; kUnknown where x's is.
int64_t split_size(const Shape& x, int axis, int64_t num) {
  const int64_t total = x[axis];
  if (num < 1 || (total != kUnknown && total % num != 0)) {
    throw invalid_argument("num, got {} for axis {} of {}, expected one that divides its size", num,
                           axis, x);
  }
  return total == kUnknown ? kUnknown : total / num;
}

std::vector<TensorType> infer_split(const InferContext& c) {
  TensorType part = c.input(kSplitValue);
  const int axis = checked_axis(known_ints(c, kSplitAxis, "axis").at(0), part.shape.rank());
  const int64_t num = c.attr<int64_t>("num_split");
  part.shape.set_dim(axis, split_size(part.shape, axis, num));
  return std::vector(static_cast<size_t>(num), part);
}

std::vector<hlo::Value> lower_split(LowerContext& c) {
  const hlo::Value x = c.input(kSplitValue);
  const int axis = checked_axis(c.constant_ints(kSplitAxis).at(0), x.shape().rank());
  const int64_t num = c.attr<int64_t>("num_split");
  const std::vector<int64_t> sizes(static_cast<size_t>(num), split_size(x.shape(), axis, num));
  return cut(c.b, x, axis, sizes);
}

std::vector<Output> split_gradient(GradientContext& c) {
  std::vector<Output> parts;
  for (int i = 0; i < c.node.num_outputs(); ++i) parts.push_back(c.grad(i));
  return {{}, concat(parts, known_ints(c.input(kSplitAxis)).at(0))};
}

}  // namespace

std::vector<Output> split(const Input& value, int64_t num, const SplitOptions& options) {
  const CompositionScope scope(value, options.name, "split");
  const Output x = resolve("Split", value);
  return Graph::current()
      .add_node("Split", {int_constant(options.axis, "split_dim"), x},
                {{"T", x.dtype()}, {"num_split", num}}, {}, scope.result().name)
      ->outputs();
}

namespace ops {
extern const OpDef op_split{
    .name = "Split",
    .doc = "Equal parts along an axis.",
    .inputs = "split_dim: int32, value: T",
    .outputs = "output: num_split * T",
    .infer = infer_split,
    .lower = lower_split,
    .gradient = split_gradient,
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
