#include "systole/graph/gradients/indexed_slices.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole {
namespace {

enum : int { kRows, kIndices, kShape };

bool is_rows_of_table(const Output& gradient) {
  if (!gradient.valid() || gradient.node()->op_name() != "GatherGrad") return false;
  const int rank = gradient.shape().rank();
  const int64_t axis = gradient.node()->attr<int64_t>("axis");
  return (axis == 0 || axis == -rank) && gradient.shape().is_static();
}

// [n] and [n, ...], of indices [..] and values [.., ...].
IndexedSlices flat(const Output& gradient) {
  const Node& node = *gradient.node();
  IndexedSlices slices{node.input(kRows), node.input(kIndices)};
  if (slices.indices.shape().rank() != 1) {
    std::vector<int64_t> dims(gradient.shape().begin(), gradient.shape().end());
    dims[0] = -1;
    slices.values = reshape(slices.values, dims);
    slices.indices = reshape(slices.indices, {-1});
  }
  const DType dtype = slices.indices.dtype();
  if (dtype != DType::s32 && dtype != DType::s64) slices.indices = to_int64(slices.indices);
  return slices;
}

}  // namespace

std::optional<IndexedSlices> indexed_slices(const Output& gradient) {
  if (!is_rows_of_table(gradient)) return std::nullopt;
  const GraphScope in_graph(gradient.graph());
  IndexedSlices slices = flat(gradient);
  // gather() clamps indices to the table, so the gradient belongs to the clamped row.
  slices.indices = maximum(minimum(slices.indices, gradient.shape()[0] - 1), 0);
  return slices;
}

IndexedSlices sum_duplicates(const IndexedSlices& slices) {
  Graph& graph = slices.values.graph();
  const GraphScope in_graph(graph);
  Node* const unique = graph.add_node("Unique", {slices.indices}, {{"out_idx", DType::s32}});
  const Output count = strided_slice(shape(unique->output(0)), {0}, {1}, {.shrink_axis_mask = 1});
  const Output sums =
      graph.add_node("UnsortedSegmentSum", {slices.values, unique->output(1), count})->output();
  return {sums, unique->output(0)};
}

Output without_duplicates(const Output& gradient) {
  const auto slices = indexed_slices(gradient);
  if (!slices) return gradient;
  const GraphScope in_graph(gradient.graph());
  const IndexedSlices rows = sum_duplicates(*slices);
  Output is_row = greater_equal(rows.indices, 0);
  for (int i = 1; i < rows.values.shape().rank(); ++i) is_row = expand_dims(is_row, -1);
  return with_slices(gradient, {where_v2(is_row, rows.values, 0), rows.indices});
}

Output map_values(const Output& gradient, const std::function<Output(const Output&)>& f) {
  if (!is_rows_of_table(gradient)) return f(gradient);
  const GraphScope in_graph(gradient.graph());
  const Node& node = *gradient.node();
  return gather_grad(f(node.input(kRows)), node.input(kIndices), node.input(kShape), 0);
}

std::optional<Output> joined_slices(std::span<const Output> gradients) {
  if (!std::ranges::all_of(gradients, is_rows_of_table)) return std::nullopt;
  std::vector<Output> values;
  std::vector<Output> indices;
  for (const Output& gradient : gradients) {
    if (gradient.type() != gradients[0].type()) return std::nullopt;
    const IndexedSlices slices = flat(gradient);
    values.push_back(slices.values);
    indices.push_back(slices.indices);
  }
  const bool narrow =
      std::ranges::all_of(indices, [](const Output& index) { return index.dtype() == DType::s32; });
  if (!narrow) {
    for (Output& index : indices) index = to_int64(index);
  }
  return with_slices(gradients[0], {concat(values, 0), concat(indices, 0)});
}

Output with_slices(const Output& gradient, const IndexedSlices& slices) {
  const GraphScope in_graph(gradient.graph());
  return gather_grad(slices.values, slices.indices, gradient.node()->input(kShape), 0);
}

Output replace_rows(const Output& x, const Output& indices, const Output& values) {
  const GraphScope in_graph(x.graph());
  return x.graph().add_node("TensorScatterUpdate", {x, expand_dims(indices, -1), values})->output();
}

Operation resource_scatter_add(const Output& handle, const IndexedSlices& slices) {
  return slices.values.graph().add_node("ResourceScatterAdd",
                                        {handle, slices.indices, slices.values});
}

}  // namespace systole
