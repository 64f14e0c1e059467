#include "systole/hlo/semantics/dynamic_start.h"

#include <algorithm>

namespace systole::hlo {

void check_start_indices(const InferContext& context, int first) {
  check_count(context.opcode, "start_indices", static_cast<size_t>(context.num_operands() - first),
              context.operand(0).shape.rank());
  for (int i = first; i < context.num_operands(); ++i) {
    const TensorType& start = context.operand(i);
    const std::string what = fmt::format("start index {}", i - first);
    check_scalar(context.opcode, what, start);
    check_integer(context.opcode, what, start);
    check_dtype(context.opcode, what, start.dtype, context.operand(first).dtype);
  }
}

void check_slice_sizes(Opcode opcode, std::string_view what, std::span<const int64_t> sizes,
                       const Shape& shape) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] >= 0 && sizes[d] <= shape[static_cast<int>(d)]) continue;
    throw invalid_argument("{}: {}, got {}, expected sizes within {}", opcode, what,
                           to_string(sizes), shape);
  }
}

StridedView view_at_start(const Shape& shape, std::span<const Tensor> starts,
                          std::span<const int64_t> sizes) {
  StridedView view = view_of(shape);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t last_start = shape[static_cast<int>(d)] - sizes[d];
    const int64_t start = std::clamp<int64_t>(index_values(starts[d])[0], 0, last_start);
    view.offset += start * view.strides[d];
  }
  return view;
}

Dims batch_shape(const Shape& indices, int64_t index_vector_dim) {
  Dims dims = indices.dims();
  if (index_vector_dim < indices.rank()) dims.erase(dims.begin() + index_vector_dim);
  return dims;
}

std::vector<Dims> slice_starts(const Tensor& indices, int operand_rank, const StartIndexMap& map) {
  const std::vector<int64_t> values = index_values(indices);
  Dims strides = indices.shape().strides();
  int64_t vector_stride = 0;
  if (map.index_vector_dim < indices.rank()) {
    vector_stride = strides[map.index_vector_dim];
    strides.erase(strides.begin() + map.index_vector_dim);
  }
  std::vector<Dims> starts;
  for_each_index(batch_shape(indices.shape(), map.index_vector_dim), [&](const Dims& batch) {
    int64_t offset = 0;
    for (size_t d = 0; d < batch.size(); ++d) offset += batch[d] * strides[d];
    Dims start(static_cast<size_t>(operand_rank), 0);
    for (size_t i = 0; i < map.start_index_map.size(); ++i) {
      start[map.start_index_map[i]] = values[offset + static_cast<int64_t>(i) * vector_stride];
    }
    for (size_t i = 0; i < map.operand_batching_dims.size(); ++i) {
      const int64_t d = map.indices_batching_dims[i];
      start[map.operand_batching_dims[i]] = batch[d < map.index_vector_dim ? d : d - 1];
    }
    starts.push_back(std::move(start));
  });
  return starts;
}

}  // namespace systole::hlo
