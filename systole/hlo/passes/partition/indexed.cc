#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/checks.h"

namespace systole::hlo::spmd {
namespace {

struct IndexedAxis {
  TensorFactors* dims;
  int64_t axis;
};
void tie_indexed(ShardingRule& rule, int64_t size, std::initializer_list<IndexedAxis> places) {
  for (const IndexedAxis& place : places) {
    (*place.dims)[place.axis] = {static_cast<int>(rule.factors.size())};
  }
  rule.factors.push_back({size});
}

Attrs local_gather(const Instruction& x, const LocalTypes& local) {
  GatherAttrs attrs = x.attrs<GatherAttrs>();
  for (int d = 0; d < x.operand(0).shape().rank(); ++d) {
    if (attrs.slice_sizes[d] == x.operand(0).shape()[d]) {
      attrs.slice_sizes[d] = local.operands[0].shape[d];
    }
  }
  return attrs;
}

// The axes of the indices that are no index vector, in order: axis i of the list is batch axis i.
Dims batch_axes(const Shape& indices, int64_t index_vector_dim) {
  return other_axes(indices.rank(), {&index_vector_dim, 1});
}

}  // namespace

// Axes of the operand that each slice takes whole, axes of the indices, and batching axes of both.
ShardingRule shard_gather(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  rule.localize = local_gather;
  const auto& attrs = x.attrs<GatherAttrs>();
  const Shape& operand = x.operand(0).shape();
  const Shape& indices = x.operand(1).shape();
  const Dims result_batch = other_axes(x.shape().rank(), attrs.offset_dims);
  const Dims index_batch = batch_axes(indices, attrs.index_vector_dim);
  for (size_t i = 0; i < index_batch.size(); ++i) {
    const int64_t d = index_batch[i];
    const int64_t size = indices[static_cast<int>(d)];
    const auto batching = std::ranges::find(attrs.start_indices_batching_dims, d);
    if (batching == attrs.start_indices_batching_dims.end()) {
      tie_indexed(rule, size, {{&rule.operands[1], d}, {&rule.results[0], result_batch[i]}});
      continue;
    }
    const int64_t from =
        attrs.operand_batching_dims[batching - attrs.start_indices_batching_dims.begin()];
    tie_indexed(
        rule, size,
        {{&rule.operands[0], from}, {&rule.operands[1], d}, {&rule.results[0], result_batch[i]}});
  }
  const Dims window =
      other_axes(operand.rank(), concat(attrs.collapsed_slice_dims, attrs.operand_batching_dims));
  for (size_t i = 0; i < window.size(); ++i) {
    const auto d = static_cast<int>(window[i]);
    if (attrs.slice_sizes[d] != operand[d] || operand[d] == 1) continue;
    tie_indexed(rule, operand[d],
                {{&rule.operands[0], d}, {&rule.results[0], attrs.offset_dims[i]}});
  }
  return rule;
}

// Axes that each update writes whole, and batching axes. Axes of the indices are reduced if the
// updates are added: parts are scattered to zeros and added up.
ShardingRule shard_scatter(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const auto& attrs = x.attrs<ScatterAttrs>();
  const int inputs = (x.num_operands() - 1) / 2;
  const Shape& input = x.operand(0).shape();
  const Shape& indices = x.operand(inputs).shape();
  const Shape& updates = x.operand(inputs + 1).shape();
  const auto tie = [&](Factor factor, int64_t input_axis, int64_t index_axis, int64_t update_axis) {
    const DimFactors place{static_cast<int>(rule.factors.size())};
    rule.factors.push_back(factor);
    if (index_axis >= 0) rule.operands[inputs][index_axis] = place;
    for (int i = 0; i < inputs; ++i) {
      if (input_axis >= 0) rule.operands[i][input_axis] = rule.results[i][input_axis] = place;
      rule.operands[inputs + 1 + i][update_axis] = place;
    }
  };
  const std::optional<Opcode> reducer = inputs == 1 ? match_reducer(x.region()) : std::nullopt;
  const bool adds = reducer == Opcode::add && x.dtype() == x.operand(2).dtype() &&
                    x.dtype() != DType::f8e8m0fnu;  // which has no 0
  const Dims update_batch = other_axes(updates.rank(), attrs.update_window_dims);
  const Dims index_batch = batch_axes(indices, attrs.index_vector_dim);
  for (size_t i = 0; i < index_batch.size(); ++i) {
    const int64_t d = index_batch[i];
    const int64_t size = indices[static_cast<int>(d)];
    const auto batching = std::ranges::find(attrs.scatter_indices_batching_dims, d);
    if (batching != attrs.scatter_indices_batching_dims.end()) {
      const int64_t from =
          attrs.input_batching_dims[batching - attrs.scatter_indices_batching_dims.begin()];
      tie({size}, from, d, update_batch[i]);
    } else if (adds) {
      tie({.size = size, .reduced = true}, -1, d, update_batch[i]);
    }
  }
  if (adds) {
    rule.combiner = reducer;
    rule.initial = 0;
  }
  const Dims window =
      other_axes(input.rank(), concat(attrs.inserted_window_dims, attrs.input_batching_dims));
  for (size_t i = 0; i < window.size(); ++i) {
    const auto d = static_cast<int>(window[i]);
    const int64_t update_axis = attrs.update_window_dims[i];
    const bool indexed = contains(attrs.scatter_dims_to_operand_dims, d);
    if (indexed || updates[static_cast<int>(update_axis)] != input[d]) continue;
    tie({input[d]}, d, -1, update_axis);
  }
  return rule;
}

}  // namespace systole::hlo::spmd
