// Slices with a start known at run time: dynamic_slice, dynamic_update_slice, gather and scatter.
#pragma once

#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {

// Checks that operands [first, end) are integer scalars of one dtype, one per axis of operand 0.
void check_start_indices(const InferContext& context, int first);

// Checks 0 <= sizes <= shape. REQUIRES: one size per axis.
void check_slice_sizes(Opcode opcode, std::string_view what, std::span<const int64_t> sizes,
                       const Shape& shape);

// Returns the slice of `sizes` that begins at the scalars `starts`, clamped so that it is in
// bounds.
StridedView view_at_start(const Shape& shape, std::span<const Tensor> starts,
                          std::span<const int64_t> sizes);

// The part of gather and scatter that maps the index tensor to slice starts. For a scatter the
// fields are input_batching_dims, scatter_indices_batching_dims and scatter_dims_to_operand_dims.
struct StartIndexMap {
  std::span<const int64_t> operand_batching_dims;
  std::span<const int64_t> indices_batching_dims;
  std::span<const int64_t> start_index_map;
  int64_t index_vector_dim;
};

// Returns the shape of `indices` without index_vector_dim. There is one slice per multi-index of
// this shape.
Dims batch_shape(const Shape& indices, int64_t index_vector_dim);

// Returns the start of each slice, by multi-index of batch_shape in row-major order. The starts are
// not clamped or checked.
std::vector<Dims> slice_starts(const Tensor& indices, int operand_rank, const StartIndexMap& map);

}  // namespace systole::hlo
