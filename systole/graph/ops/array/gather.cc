#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kGatherParams, kGatherIndices, kGatherAxis };

std::vector<TensorType> infer_gather(const InferContext& c) {
  const Shape& params = c.input(kGatherParams).shape;
  const TensorType& indices = c.input(kGatherIndices);
  if (!is_integer(indices.dtype))
    throw invalid_argument("indices, got {}, expected integers", indices);
  const int axis = checked_axis(known_ints(c, kGatherAxis, "axis").at(0), params.rank());
  Dims dims(params.begin(), params.begin() + axis);
  dims.insert(dims.end(), indices.shape.begin(), indices.shape.end());
  dims.insert(dims.end(), params.begin() + axis + 1, params.end());
  return {{c.input(kGatherParams).dtype, Shape(std::move(dims))}};
}

// HLO's gather clamps the start of each slice to the operand.
std::vector<hlo::Value> lower_gather(LowerContext& c) {
  const Shape& params = c.input(kGatherParams).shape();
  const Shape& indices = c.input(kGatherIndices).shape();
  const int axis = checked_axis(c.constant_ints(kGatherAxis).at(0), params.rank());
  if (params[axis] == 0 && indices.num_elements() > 0) {
    throw invalid_argument("params, got {}, expected elements along axis {}",
                           c.input(kGatherParams).type(), axis);
  }
  Dims result(params.begin(), params.begin() + axis);
  result.insert(result.end(), indices.begin(), indices.end());
  result.insert(result.end(), params.begin() + axis + 1, params.end());
  if (Shape empty(result); empty.num_elements() == 0) {  // of no elements there are no slices
    return {c.b.constant(Tensor(c.input(kGatherParams).dtype(), std::move(empty)))};
  }
  hlo::GatherAttrs attrs;
  for (int i = 0; i < params.rank() - 1; ++i)
    attrs.offset_dims.push_back(i < axis ? i : i + indices.rank());
  attrs.collapsed_slice_dims = {axis};
  attrs.start_index_map = {axis};
  attrs.index_vector_dim = indices.rank();
  attrs.slice_sizes = params.dims();
  attrs.slice_sizes[axis] = 1;
  return {c.b.op(hlo::Opcode::gather, {c.input(kGatherParams), c.input(kGatherIndices)}, attrs)
              ->result()};
}

std::vector<Output> gather_gradient(GradientContext& c) {
  const int64_t axis = known_ints(c.input(kGatherAxis)).at(0);
  return {
      gather_grad(c.grad(), c.input(kGatherIndices), shape(c.input(kGatherParams)), axis), {}, {}};
}

std::optional<PartialValue> gather_elements(const Output& output) {
  const Node& node = *output.node();
  const auto value = partial_value(node.input(0));
  const auto indices = partial_value(node.input(1));
  if (!value || !indices || !indices->known() || value->shape.rank() != 1) return std::nullopt;
  PartialValue result{value->dtype, indices->shape, {}};
  for (const KnownElement& index : indices->elements) {
    if (*index < 0 || *index >= value->shape[0]) return std::nullopt;
    result.elements.push_back(value->elements[*index]);
  }
  return result;
}

// Rows of a table that is the same for all elements.
BatchResults batch_gather(const BatchContext& c) {
  const auto axis = c.constant_ints(2);
  const bool first = axis && ((*axis)[0] == 0 || c.node.input(0).shape().rank() == 1);
  if (!first || c.inputs[0].batched || !c.inputs[1].batched) return std::nullopt;
  return c.rebuild();
}

}  // namespace

Output gather(const Input& params, const Input& indices, const GatherOptions& options) {
  const CompositionScope scope(params, options.name, "GatherV2");
  const Output x = resolve("GatherV2", params);
  const Output ids = resolve("GatherV2", indices);
  return Graph::current()
      .add_node("GatherV2", {x, ids, int_constant(options.axis, "axis")},
                {{"Tparams", x.dtype()}, {"Tindices", ids.dtype()}}, {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_gather{
    .name = "GatherV2",
    .doc = "Slices along an axis, by number.",
    .inputs = "params: Tparams, indices: Tindices, axis: Taxis",
    .outputs = "output: Tparams",
    .attrs = "batch_dims: int == 0",
    .infer = infer_gather,
    .lower = lower_gather,
    .gradient = gather_gradient,
    .constant_rule = gather_elements,
    .batch = {.rule = batch_gather},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
