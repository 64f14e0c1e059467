// Gather and scatter. The replicas are a batching dimension of operand and indices; if only one of
// them varies, they are an additional axis of its slices or indices.
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {}  // namespace

std::vector<Value> vectorize_gather(Vectorizer& v, Instruction& x) {
  GatherAttrs a = x.attrs<GatherAttrs>();
  const bool operand = v.varying(x.operand(0));
  const bool indices = v.varying(x.operand(1));
  a.offset_dims = shifted(a.offset_dims);
  if (operand) {
    a.collapsed_slice_dims = shifted(a.collapsed_slice_dims);
    a.operand_batching_dims = shifted(a.operand_batching_dims);
    a.start_index_map = shifted(a.start_index_map);
    a.slice_sizes = with_front(a.slice_sizes, indices ? 1 : v.num_replicas());
  }
  if (indices) {
    a.start_indices_batching_dims = shifted(a.start_indices_batching_dims);
    ++a.index_vector_dim;
    a.indices_are_sorted = false;
  }
  if (operand && indices) {
    a.operand_batching_dims = with_front(a.operand_batching_dims, 0);
    a.start_indices_batching_dims = with_front(a.start_indices_batching_dims, 0);
  } else if (operand) {
    a.offset_dims = with_front(a.offset_dims, 0);
  }
  return {v.b().op(Opcode::gather, {v.at(x.operand(0)), v.at(x.operand(1))}, a)->result()};
}

std::vector<Value> vectorize_scatter(Vectorizer& v, Instruction& x) {
  ScatterAttrs a = x.attrs<ScatterAttrs>();
  a.update_window_dims = shifted(a.update_window_dims);
  a.inserted_window_dims = shifted(a.inserted_window_dims);
  a.input_batching_dims = with_front(shifted(a.input_batching_dims), 0);
  a.scatter_indices_batching_dims = with_front(shifted(a.scatter_indices_batching_dims), 0);
  a.scatter_dims_to_operand_dims = shifted(a.scatter_dims_to_operand_dims);
  ++a.index_vector_dim;
  a.indices_are_sorted = false;
  const auto copy_region = [&](Instruction& copy) {
    ValueMap none;
    copy.add_region().clone_from(x.region(), none);
  };
  Instruction* const all =
      v.b().op_with_regions(Opcode::scatter, v.stacked(x.operands()), a, copy_region);
  std::vector<Value> results;
  for (int i = 0; i < x.num_results(); ++i) results.push_back(all->result(i));
  return results;
}

}  // namespace systole::hlo::replicas
