// Walks over multi-indices and strided copies: what data movement, windows and products are made
// of.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::hlo {

// How a walk over multi-indices moves through a row-major tensor: the element at index [0, ..., 0]
// and the step of each axis of the walk, in elements. A step of 0 repeats, a negative one goes
// backwards.
struct StridedView {
  int64_t offset = 0;
  Dims strides;
};

// Every element in order.
StridedView view_of(const Shape& shape);

// Walks `extents` in row-major order, one row along the last axis at a time: body(offsets, steps,
// count), where offsets[k] is the row's first element in view k and steps[k] the distance to the
// next. A walk of rank 0 is one row of one element.
template <size_t N, class Body>
void for_each_row(std::span<const int64_t> extents, const std::array<StridedView, N>& views,
                  Body&& body) {
  const int last = static_cast<int>(extents.size()) - 1;
  std::array<int64_t, N> offsets{};
  std::array<int64_t, N> steps{};
  for (size_t k = 0; k < N; ++k) {
    offsets[k] = views[k].offset;
    if (last >= 0) steps[k] = views[k].strides[static_cast<size_t>(last)];
  }
  for (const int64_t extent : extents) {
    if (extent == 0) return;
  }
  const int64_t count = last >= 0 ? extents[static_cast<size_t>(last)] : 1;
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

// to[to_view(i)] = from[from_view(i)] for every multi-index i below `extents`. The tensors have one
// element size.
void copy_strided(Tensor& to, const StridedView& to_view, const Tensor& from,
                  const StridedView& from_view, std::span<const int64_t> extents);

// A copy whose axis i is the operand's axis permutation[i].
Tensor permuted(const Tensor& operand, std::span<const int64_t> permutation);
// A copy with the elements along `axes` in the opposite order.
Tensor reversed(const Tensor& operand, std::span<const int64_t> axes);

// `tensors` one behind the other along `axis`.
Tensor concatenated(std::span<const Tensor> tensors, int axis);

// Every element becomes the scalar `value` of the same dtype.
void fill(Tensor& tensor, const Tensor& value);

// The elements of an integer tensor; what is beyond 2^63 - 1 becomes that, so that clamping an
// index stays right.
std::vector<int64_t> index_values(const Tensor& indices);

}  // namespace systole::hlo
