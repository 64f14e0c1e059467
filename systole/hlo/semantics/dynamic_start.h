// Slices whose start is a value: dynamic_slice, dynamic_update_slice, gather and scatter.
#pragma once

#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {

// Operands [first, end) are integer scalars of one dtype, one for each axis of operand 0.
void check_start_indices(const InferContext& context, int first);

// 0 <= sizes <= shape. REQUIRES: as many sizes as axes.
void check_slice_sizes(Opcode opcode, std::string_view what, std::span<const int64_t> sizes,
                       const Shape& shape);

// The slice of `sizes` that begins at the scalars `starts`, moved as little as possible so that it
// lies inside.
StridedView view_at_start(const Shape& shape, std::span<const Tensor> starts,
                          std::span<const int64_t> sizes);

// What gather and scatter have in common: where the index tensor says that a slice of the operand
// begins. A scatter is read with its own names: input_batching_dims, scatter_indices_batching_dims,
// scatter_dims_to_operand_dims.
struct StartIndexMap {
  std::span<const int64_t> operand_batching_dims;
  std::span<const int64_t> indices_batching_dims;
  std::span<const int64_t> start_index_map;
  int64_t index_vector_dim;
};

// The shape of `indices` without index_vector_dim: there is one slice for each of its
// multi-indices.
Dims batch_shape(const Shape& indices, int64_t index_vector_dim);

// Where each slice begins, by multi-index of batch_shape in row-major order; as read, neither
// clamped nor checked.
std::vector<Dims> slice_starts(const Tensor& indices, int operand_rank, const StartIndexMap& map);

}  // namespace systole::hlo
