#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/node_builder.h"

namespace systole {
namespace {

enum : int { kGradient, kIndices, kParamsShape };

std::vector<TensorType> infer(const InferContext& c) {
  const auto shape = c.input_as_shape(kParamsShape);
  if (!shape) throw invalid_argument("params_shape, got {}, expected a known number of dimensions", c.input(kParamsShape));
  return {{c.input(kGradient).dtype, *shape}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  hlo::Builder& b = c.b;
  const TensorType params{c.input(kGradient).dtype(), Shape(std::span<const int64_t>(c.constant_ints(kParamsShape)))};
  const Shape& indices = c.input(kIndices).shape();
  const int axis = checked_axis(c.attr<int64_t>("axis"), params.shape.rank());
  // Scatter drops what lies outside, where the forward op took the nearest element.
  const hlo::Value ids = b.op(hlo::Opcode::clamp, {b.scalar(c.input(kIndices).dtype(), 0), c.input(kIndices),
                                                   b.scalar(c.input(kIndices).dtype(),
                                                            static_cast<double>(params.shape[axis] - 1))})
                             ->result();
  hlo::ScatterAttrs attrs;
  for (int i = 0; i < params.shape.rank() - 1; ++i) {
    attrs.update_window_dims.push_back(i < axis ? i : i + indices.rank());
  }
  attrs.inserted_window_dims = {axis};
  attrs.scatter_dims_to_operand_dims = {axis};
  attrs.index_vector_dim = indices.rank();
  const auto fill = [&](hlo::Instruction& i) { hlo::fill_reducer(i.add_region(), hlo::Opcode::add, params.dtype); };
  return {b.op_with_regions(hlo::Opcode::scatter, {b.splat(params, 0), ids, c.input(kGradient)}, attrs, fill)->result()};
}

// Linear in the gradient, and the inverse of gather.
std::vector<Output> gradient(GradientContext& c) {
  return {gather(c.grad(), c.input(kIndices), {.axis = c.attr<int64_t>("axis")}), {}, {}};
}

}  // namespace

Output gather_grad(Output gradient, Output indices, Output params_shape, int64_t axis) {
  return Graph::current()
      .add_node("GatherGrad", {gradient, indices, params_shape}, {{"T", gradient.dtype()}, {"axis", axis}})
      ->output();
}

namespace ops {
extern const OpDef op_gather_grad;
const OpDef op_gather_grad{
    .name = "GatherGrad",
    .doc = "The gradient of GatherV2: rows added into zeros. (TensorFlow writes it with UnsortedSegmentSum.)",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
