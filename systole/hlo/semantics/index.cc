#include "systole/hlo/semantics/index.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "systole/base/error.h"

namespace systole::hlo {
namespace {

// An element of N bytes of any dtype.
template <size_t N>
struct Bytes {
  std::array<std::byte, N> bytes;
};

// Calls f.operator()<T>() with a trivially copyable T of `size` bytes.
template <class F>
void visit_element_size(int size, F&& f) {
  switch (size) {
    case 1:
      return f.template operator()<Bytes<1>>();
    case 2:
      return f.template operator()<Bytes<2>>();
    case 4:
      return f.template operator()<Bytes<4>>();
    case 8:
      return f.template operator()<Bytes<8>>();
    case 16:
      return f.template operator()<Bytes<16>>();
    default:
      throw internal_error("index: element size, got {} bytes, expected a numeric dtype", size);
  }
}

}  // namespace

StridedView view_of(const Shape& shape) { return {.offset = 0, .strides = shape.strides()}; }

void copy_strided(Tensor& to, const StridedView& to_view, const Tensor& from,
                  const StridedView& from_view, std::span<const int64_t> extents) {
  visit_element_size(size_of(to.dtype()), [&]<class T>() {
    T* const target = static_cast<T*>(to.raw());
    const T* const source = static_cast<const T*>(from.raw());
    for_each_row<2>(extents, {to_view, from_view},
                    [&](const auto& offsets, const auto& steps, int64_t count) {
                      T* out = target + offsets[0];
                      const T* in = source + offsets[1];
                      if (steps[0] == 1 && steps[1] == 1) {
                        std::memcpy(out, in, static_cast<size_t>(count) * sizeof(T));
                        return;
                      }
                      for (int64_t i = 0; i < count; ++i) out[i * steps[0]] = in[i * steps[1]];
                    });
  });
}

Tensor permuted(const Tensor& operand, std::span<const int64_t> permutation) {
  const Dims strides = operand.shape().strides();
  StridedView from;
  Dims dims;
  for (const int64_t axis : permutation) {
    from.strides.push_back(strides[axis]);
    dims.push_back(operand.dim(static_cast<int>(axis)));
  }
  Tensor result(operand.dtype(), Shape(std::move(dims)));
  copy_strided(result, view_of(result.shape()), operand, from, result.shape().dims());
  return result;
}

Tensor reversed(const Tensor& operand, std::span<const int64_t> axes) {
  StridedView from = view_of(operand.shape());
  for (const int64_t axis : axes) {
    int64_t& stride = from.strides[axis];
    from.offset += (operand.dim(static_cast<int>(axis)) - 1) * stride;
    stride = -stride;
  }
  Tensor result(operand.type());
  copy_strided(result, view_of(result.shape()), operand, from, result.shape().dims());
  return result;
}

Tensor concatenated(std::span<const Tensor> tensors, int axis) {
  Shape shape = tensors[0].shape();
  int64_t size = 0;
  for (const Tensor& tensor : tensors) size += tensor.dim(axis);
  shape.set_dim(axis, size);
  Tensor result(tensors[0].dtype(), shape);
  StridedView to = view_of(shape);
  for (const Tensor& tensor : tensors) {
    copy_strided(result, to, tensor, view_of(tensor.shape()), tensor.shape().dims());
    to.offset += tensor.dim(axis) * to.strides[axis];
  }
  return result;
}

void fill(Tensor& tensor, const Tensor& value) {
  visit_element_size(size_of(tensor.dtype()), [&]<class T>() {
    T* const elements = static_cast<T*>(tensor.raw());
    std::fill_n(elements, tensor.num_elements(), *static_cast<const T*>(value.raw()));
  });
}

std::vector<int64_t> index_values(const Tensor& indices) {
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(indices.num_elements()));
  visit_dtype(indices.dtype(), [&]<class T>() {
    for (const T element : indices.data<T>()) {
      if constexpr (std::is_same_v<T, uint64_t>) {
        constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
        values.push_back(static_cast<int64_t>(std::min(element, kLargest)));
      } else if constexpr (std::is_convertible_v<T, int64_t>) {
        values.push_back(static_cast<int64_t>(element));
      } else {
        throw internal_error("index: dtype, got {}, expected an integer", indices.dtype());
      }
    }
  });
  return values;
}

}  // namespace systole::hlo
