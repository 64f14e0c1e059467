// Iteration over multi-indices and strided copies, for data movement, windows and products.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::hlo {

// Maps multi-indices to elements of a row-major tensor: the element of index [0, ..., 0] and the
// step of each axis, in elements. A step of 0 repeats; a negative step runs backwards.
struct StridedView {
  int64_t offset = 0;
  Dims strides;
};

// Visits every element in order.
StridedView view_of(const Shape& shape);

// Visits `extents` in row-major order, one row along the last axis at a time: body(offsets, steps,
// count). offsets[k] is the row's first element in view k, steps[k] the distance between elements.
// Rank 0 is one row of one element.
template <size_t N, class Body>
void for_each_row(std::span<const int64_t> extents, const std::array<StridedView, N>& views,
                  Body&& body) {
  const int last = static_cast<int>(extents.size()) - 1;
  std::array<int64_t, N> offsets{};
  std::array<int64_t, N> steps{};
  for (size_t k = 0; k < N; ++k) {
    offsets[k] = views[k].offset;
    if (last >= 0) steps[k] = views[k].strides[last];
  }
  for (const int64_t extent : extents) {
    if (extent == 0) return;
  }
  const int64_t count = last >= 0 ? extents[last] : 1;
  Dims index(extents.size(), 0);
  int axis = last;
  while (true) {
    body(offsets, steps, count);
    for (axis = last - 1; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      for (size_t k = 0; k < N; ++k) offsets[k] += views[k].strides[a];
      if (++index[a] < extents[a]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= views[k].strides[a] * extents[a];
      index[a] = 0;
    }
    if (axis < 0) return;
  }
}

// Calls body(index) for every multi-index below `extents`, in row-major order.
template <class Body>
void for_each_index(std::span<const int64_t> extents, Body&& body) {
  Dims index(extents.size(), 0);
  for (const int64_t extent : extents) {
    if (extent == 0) return;
  }
  while (true) {
    body(std::as_const(index));
    int axis = static_cast<int>(extents.size()) - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      if (++index[a] < extents[a]) break;
      index[a] = 0;
    }
    if (axis < 0) return;
  }
}

// Copies to[to_view(i)] = from[from_view(i)] for every multi-index i below `extents`. The tensors
// have the same element size.
void copy_strided(Tensor& to, const StridedView& to_view, const Tensor& from,
                  const StridedView& from_view, std::span<const int64_t> extents);

// Returns a copy whose axis i is the operand's axis permutation[i].
Tensor permuted(const Tensor& operand, std::span<const int64_t> permutation);
// Returns a copy with the elements along `axes` reversed.
Tensor reversed(const Tensor& operand, std::span<const int64_t> axes);

// Concatenates along `axis`.
Tensor concatenated(std::span<const Tensor> tensors, int axis);

// Sets every element to the scalar `value`, which has the same dtype.
void fill(Tensor& tensor, const Tensor& value);

// Returns the elements of an integer tensor. Values above 2^63 - 1 become 2^63 - 1, so that
// clamping an index stays correct.
std::vector<int64_t> index_values(const Tensor& indices);

}  // namespace systole::hlo
