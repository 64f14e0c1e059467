#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/array/array_common.h"
#include "systole/graph/ops/array/strided_slice_spec.h"

namespace systole {
namespace {

enum : int {
  kStridedSliceGradShape,
  kStridedSliceGradBegin,
  kStridedSliceGradEnd,
  kStridedSliceGradStrides,
  kStridedSliceGradGradient
};

std::vector<TensorType> infer_strided_slice_grad(const InferContext& c) {
  const auto shape = c.input_as_shape(kStridedSliceGradShape);
  if (!shape)
    throw invalid_argument("shape, got {}, expected a known number of dimensions",
                           c.input(kStridedSliceGradShape));
  return {{c.input(kStridedSliceGradGradient).dtype, *shape}};
}

// The gradient spread out by the strides, among zeros.
std::vector<hlo::Value> lower_strided_slice_grad(LowerContext& c) {
  const Shape input(std::span<const int64_t>(c.constant_ints(kStridedSliceGradShape)));
  const auto mask = [&](const char* name) { return c.attr<int64_t>(name); };
  const SliceSpec spec =
      slice_spec(input, c.constant_ints(kStridedSliceGradBegin),
                 c.constant_ints(kStridedSliceGradEnd), c.constant_ints(kStridedSliceGradStrides),
                 {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"),
                  mask("new_axis_mask"), mask("shrink_axis_mask")});
  const hlo::Value gradient = c.b.reshape(c.input(kStridedSliceGradGradient), spec.sliced);
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
std::vector<Output> strided_slice_grad_gradient(GradientContext& c) {
  Node* const node =
      Graph::current().add_node("StridedSlice",
                                {c.grad(), c.input(kStridedSliceGradBegin),
                                 c.input(kStridedSliceGradEnd), c.input(kStridedSliceGradStrides)},
                                c.node.attrs());
  return {{}, {}, {}, {}, node->output()};
}

}  // namespace

namespace ops {
extern const OpDef op_strided_slice_grad{
    .name = "StridedSliceGrad",
    .doc = "The gradient of StridedSlice.",
    .inputs = "shape: Index, begin: Index, end: Index, strides: Index, dy: T",
    .outputs = "output: T",
    .attrs =
        "begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, "
        "shrink_axis_mask: int = 0",
    .infer = infer_strided_slice_grad,
    .lower = lower_strided_slice_grad,
    .gradient = strided_slice_grad_gradient,
};
}  // namespace ops
}  // namespace systole
