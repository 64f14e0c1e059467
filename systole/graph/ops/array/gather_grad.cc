#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kGatherGradGradient, kGatherGradIndices, kGatherGradParamsShape };

std::vector<TensorType> infer_gather_grad(const InferContext& c) {
  const auto shape = c.input_as_shape(kGatherGradParamsShape);
  if (!shape)
    throw invalid_argument("params_shape, got {}, expected a known number of dimensions",
                           c.input(kGatherGradParamsShape));
  return {{c.input(kGatherGradGradient).dtype, *shape}};
}

// Rows of other sizes would be added to parts of the params', and so would be lost.
void check_gradient_rows(const Shape& gradient, const Shape& indices, const Shape& params,
                         int axis) {
  Dims wanted = params.dims();
  wanted.erase(wanted.begin() + axis);
  wanted.insert(wanted.begin() + axis, indices.begin(), indices.end());
  if (gradient == Shape(wanted)) return;
  throw invalid_argument("rows, got {} for indices {}, expected {}", gradient, indices,
                         Shape(wanted));
}

// Scatter drops what lies outside, where the forward op took the nearest element: the indices are
// clamped. 16-bit rows are added up in f32.
std::vector<hlo::Value> lower_gather_grad(LowerContext& c) {
  hlo::Builder& b = c.b;
  const DType dtype = c.input(kGatherGradGradient).dtype();
  const Shape params(c.constant_ints(kGatherGradParamsShape));
  const int axis = checked_axis(c.attr<int64_t>("axis"), params.rank());
  const hlo::Value indices = wide_integers(b, c.input(kGatherGradIndices));
  const int index_rank = indices.shape().rank();
  check_gradient_rows(c.input(kGatherGradGradient).shape(), indices.shape(), params, axis);
  const auto index = [&](int64_t i) {
    return b.scalar(indices.dtype(), static_cast<double>(std::max<int64_t>(i, 0)));
  };
  const hlo::Value ids =
      b.op(hlo::Opcode::clamp, {index(0), indices, index(params[axis] - 1)})->result();

  hlo::ScatterAttrs attrs;
  for (int i = 0; i < params.rank() - 1; ++i) {
    attrs.update_window_dims.push_back(i < axis ? i : i + index_rank);
  }
  attrs.inserted_window_dims = {axis};
  attrs.scatter_dims_to_operand_dims = {axis};
  attrs.index_vector_dim = index_rank;
  const DType sum = accumulation_dtype(dtype);
  const auto fill = [&](hlo::Instruction& i) {
    hlo::fill_reducer(i.add_region(), hlo::Opcode::add, sum);
  };
  const hlo::Value rows = b.convert(c.input(kGatherGradGradient), sum);
  hlo::Instruction* const scattered =
      b.op_with_regions(hlo::Opcode::scatter, {b.splat({sum, params}, 0), ids, rows}, attrs, fill);
  return {b.convert(scattered->result(), dtype)};
}

// Linear in the gradient, and the inverse of gather.
std::vector<Output> gather_grad_gradient(GradientContext& c) {
  return {gather(c.grad(), c.input(kGatherGradIndices), {.axis = c.attr<int64_t>("axis")}), {}, {}};
}

// Along the first axis, TensorFlow's sum of segments of the params' number.
void export_gather_grad(ExportContext& c) {
  const Node& node = c.node;
  const DType sizes = node.input(kGatherGradParamsShape).dtype();
  const DType indices = node.input(kGatherGradIndices).dtype();
  const std::vector<std::string> inputs = c.inputs();
  const DType dtype = node.input(kGatherGradGradient).dtype();
  const auto rank = static_cast<int>(node.input(kGatherGradParamsShape).shape()[0]);
  c.in_tensorflow = checked_axis(node.attr<int64_t>("axis"), rank) == 0;
  if (!c.in_tensorflow) {
    c.records.push_back({"GatherGrad",
                         node.name(),
                         inputs,
                         {{"axis", node.attr<int64_t>("axis")},
                          {"T", dtype},
                          {"Tindices", indices},
                          {"Tshape", sizes}}});
    return;
  }
  const std::string zero = c.add_constant(node.name() + "/first", Tensor(int32_t{0}));
  const std::string count = node.name() + "/num_segments";
  c.records.push_back({"GatherV2",
                       count,
                       {inputs[kGatherGradParamsShape], zero, zero},
                       {{"Tparams", sizes}, {"Tindices", DType::s32}, {"Taxis", DType::s32}}});
  c.records.push_back({"UnsortedSegmentSum",
                       node.name(),
                       {inputs[kGatherGradGradient], inputs[kGatherGradIndices],
                        c.reference_record(count, "output")},
                       {{"T", dtype}, {"Tindices", indices}, {"Tnumsegments", sizes}}});
}

}  // namespace

Output gather_grad(Output gradient, Output indices, Output params_shape, int64_t axis) {
  return Graph::current()
      .add_node("GatherGrad", {gradient, indices, params_shape},
                {{"T", gradient.dtype()}, {"axis", axis}})
      ->output();
}

namespace ops {
extern const OpDef op_gather_grad{
    .name = "GatherGrad",
    .doc =
        "The gradient of GatherV2: rows added into zeros. (TensorFlow writes it with "
        "UnsortedSegmentSum.)",
    .inputs = "gradient: T, indices: Tindices, params_shape: Tshape",
    .outputs = "output: T",
    .attrs = "axis: int",
    .graph_def = {.export_node = export_gather_grad},
    .infer = infer_gather_grad,
    .lower = lower_gather_grad,
    .gradient = gather_grad_gradient,
};
}  // namespace ops
}  // namespace systole
