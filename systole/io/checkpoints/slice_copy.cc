#include "systole/io/checkpoints/slice_copy.h"

#include <cstring>

namespace systole {
namespace {

// Calls row(offset in the whole, offset in the part, length), in elements, for each innermost row
// of the part.
template <class Row>
void for_each_row(const Shape& full, const TensorSlice& slice, Row&& row) {
  const Shape part = slice_shape(full, slice);
  if (part.num_elements() == 0) return;
  const int rank = full.rank();
  if (rank == 0) return row(int64_t{0}, int64_t{0}, int64_t{1});
  const Dims strides = full.strides();
  const int64_t length = part[rank - 1];
  const int64_t rows = part.num_elements() / length;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t rest = i;
    int64_t offset = slice.extents[rank - 1].start;
    for (int axis = rank - 2; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      offset += (slice.extents[at].start + rest % part[axis]) * strides[at];
      rest /= part[axis];
    }
    row(offset, i * length, length);
  }
}

void copy_elements(const Tensor& from, int64_t from_offset, Tensor& to, int64_t to_offset,
                   int64_t count) {
  if (from.dtype() == DType::string) {
    const auto source = from.data<std::string>();
    std::copy_n(source.begin() + from_offset, count, to.data<std::string>().begin() + to_offset);
    return;
  }
  const int64_t size = size_of(from.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + to_offset * size,
              static_cast<const char*>(from.raw()) + from_offset * size,
              static_cast<size_t>(count * size));
}

}  // namespace

void check_slice(std::string_view what, const Shape& shape, const TensorSlice& slice) {
  bool fits = static_cast<int>(slice.extents.size()) == shape.rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis) {
    const auto [start, length] = slice.extents[axis];
    fits = length == kUnknown
               ? start == 0
               : start >= 0 && length >= 0 && start <= shape[axis] && length <= shape[axis] - start;
  }
  if (fits) return;
  throw make_error(Code::data_loss, "{}: slice, got {}, expected one of {}", what,
                   slice.to_string(), shape);
}

Shape slice_shape(const Shape& full, const TensorSlice& slice) {
  Shape result = full;
  for (int axis = 0; axis < full.rank(); ++axis) {
    const int64_t length = slice.extents[axis].length;
    if (length != kUnknown) result.set_dim(axis, length);
  }
  return result;
}

Tensor copy_slice(const Tensor& whole, const TensorSlice& slice) {
  Tensor part(whole.dtype(), slice_shape(whole.shape(), slice));
  for_each_row(whole.shape(), slice, [&](int64_t offset, int64_t at, int64_t count) {
    copy_elements(whole, offset, part, at, count);
  });
  return part;
}

void copy_into_slice(const Tensor& part, const TensorSlice& slice, Tensor& whole) {
  for_each_row(whole.shape(), slice, [&](int64_t offset, int64_t at, int64_t count) {
    copy_elements(part, at, whole, offset, count);
  });
}

}  // namespace systole
