#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/strided_slice_spec.h"

namespace systole {
namespace {

enum : int { kShape, kBegin, kEnd, kStrides, kGradient };

std::vector<TensorType> infer(const InferContext& c) {
  const auto shape = c.input_as_shape(kShape);
  if (!shape)
    throw invalid_argument("shape, got {}, expected a known number of dimensions", c.input(kShape));
  return {{c.input(kGradient).dtype, *shape}};
}

// The gradient spread out by the strides, among zeros.
std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape input(std::span<const int64_t>(c.constant_ints(kShape)));
  const auto mask = [&](const char* name) { return c.attr<int64_t>(name); };
  const SliceSpec spec =
      slice_spec(input, c.constant_ints(kBegin), c.constant_ints(kEnd), c.constant_ints(kStrides),
                 {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"),
                  mask("new_axis_mask"), mask("shrink_axis_mask")});
  const hlo::Value gradient = c.b.reshape(c.input(kGradient), spec.sliced);
  Dims high;
  Dims interior;
  for (int i = 0; i < input.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t count = spec.sliced[i];
    const int64_t extent = count == 0 ? 0 : (count - 1) * spec.stride[at] + 1;
    interior.push_back(spec.stride[at] - 1);
    high.push_back(input[i] - spec.start[at] - extent);
  }
  const hlo::Value padded =
      c.b.pad(gradient, c.b.scalar(gradient.dtype(), 0), spec.start, high, interior);
  return {spec.reversed.empty() ? padded : c.b.reverse(padded, spec.reversed)};
}

// Linear in the gradient: its own is the slice of it.
std::vector<Output> gradient(GradientContext& c) {
  Node* const node = Graph::current().add_node(
      "StridedSlice", {c.grad(), c.input(kBegin), c.input(kEnd), c.input(kStrides)},
      c.node.attrs());
  return {{}, {}, {}, {}, node->output()};
}

}  // namespace

namespace ops {
extern const OpDef op_strided_slice_grad;
const OpDef op_strided_slice_grad{
    .name = "StridedSliceGrad",
    .doc = "The gradient of StridedSlice.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
