// Tensor: a dense, row-major array in host memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/base/shape.h"

namespace systole {

// Memory shared by the Tensors that view it; 64-byte aligned. Freed with the last Tensor.
class TensorBuffer;

// A number that an element is: a Tensor of one element converts to it.
template <class T>
concept ScalarNumber =
    std::is_floating_point_v<T> || std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, uint8_t> ||
    std::is_same_v<T, uint16_t> || std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>;

// A dtype, a shape and a shared buffer. Copying a Tensor copies the handle (as in TensorFlow's C++
// API); `clone` copies the elements. Different Tensors may be used on different threads; access to
// shared elements is not synchronized. A default-constructed Tensor has dtype `invalid` and no
// elements.
class Tensor {
 public:
  Tensor() = default;
  // Leaves numbers uninitialized; strings are empty. Errors: INVALID_ARGUMENT if `shape` is not
  // static or `dtype` has no elements; RESOURCE_EXHAUSTED, with the bytes, if memory is short.
  Tensor(DType dtype, Shape shape);
  explicit Tensor(const TensorType& type) : Tensor(type.dtype, type.shape) {}

  // A scalar: Tensor(2.5f), Tensor(7) is s32, Tensor(true), Tensor("text").
  Tensor(float value);        // NOLINT(google-explicit-constructor): reads as the literal
  Tensor(double value);       // NOLINT(google-explicit-constructor)
  Tensor(int32_t value);      // NOLINT(google-explicit-constructor)
  Tensor(int64_t value);      // NOLINT(google-explicit-constructor)
  Tensor(bool value);         // NOLINT(google-explicit-constructor)
  Tensor(const char* value);  // NOLINT(google-explicit-constructor)
  Tensor(std::string value);  // NOLINT(google-explicit-constructor)

  // Makes a tensor of elements in row-major order. Errors: INVALID_ARGUMENT if the counts differ.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> elements);
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> elements) {
    return of<T>(std::move(shape), std::span<const T>(elements.begin(), elements.size()));
  }
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& elements) {
    return of<T>(std::move(shape), std::span<const T>(elements));
  }
  // The same as constructors: Tensor({2, 3}, values), Tensor({2}, {1.0F, 2.0F}).
  template <class T>
  Tensor(Shape shape, const std::vector<T>& elements) : Tensor(of<T>(std::move(shape), elements)) {}
  template <class T>
  Tensor(Shape shape, std::initializer_list<T> elements)
      : Tensor(of<T>(std::move(shape), elements)) {}
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }
  // Fills with `value`, converted to `dtype` as by `cast`. Errors: INVALID_ARGUMENT if `dtype` is
  // not numeric.
  static Tensor full(DType dtype, Shape shape, double value);
  // Fills with zero bits or empty strings.
  static Tensor zeros(DType dtype, Shape shape);
  // Views memory that the caller keeps alive and unchanged while any copy of the result lives.
  static Tensor view(DType dtype, Shape shape, void* data);
  // Wraps writable memory of numbers that the caller lends and keeps alive while any copy of the
  // result lives, such as a place in a stack of batches. Unlike with view(), the result may be
  // written to: it is unique() until it is copied.
  static Tensor lent(DType dtype, Shape shape, void* data);
  // Wraps writable memory of numbers, such as memory that processes share, and keeps `owner` until
  // the last copy of the result is gone. A client may take the memory over, as it may that of a
  // tensor that was allocated here. `data` is 64-byte aligned.
  static Tensor adopt(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorType type() const { return {dtype_, shape_}; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t num_elements() const { return num_elements_; }
  int64_t byte_size() const { return num_elements_ * size_of(dtype_); }
  bool valid() const { return dtype_ != DType::invalid; }

  void* raw() { return data_; }
  const void* raw() const { return data_; }
  // Returns the elements. Errors: INVALID_ARGUMENT if T is not the element type of dtype().
  template <class T>
  std::span<T> data() {
    check_dtype(dtype_of<T>());
    return {static_cast<T*>(static_cast<void*>(data_)), static_cast<size_t>(num_elements_)};
  }
  template <class T>
  std::span<const T> data() const {
    check_dtype(dtype_of<T>());
    return {static_cast<const T*>(static_cast<const void*>(data_)),
            static_cast<size_t>(num_elements_)};
  }
  // Returns the element of a tensor with one element.
  template <class T>
  T item() const {
    check_single();
    return data<T>()[0];
  }
  // The one element as a number: float a = session.run(loss). Errors: INVALID_ARGUMENT for another
  // number of elements, for strings, and for a number that T does not hold: 0.5 or 300 as uint8_t.
  template <ScalarNumber T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(single_as_double());
    } else {
      return static_cast<T>(single_as_integer(dtype_of<T>()));
    }
  }
  // Returns element `index` (row-major) as a double: the real part of a complex number, 0 or 1 for
  // pred. Errors: INVALID_ARGUMENT if out of range.
  double as_double(int64_t index) const;

  // Returns rows [begin, end) along the first dimension, sharing memory: x.slice(i, i + 1). Errors:
  // INVALID_ARGUMENT for a scalar or if out of range.
  Tensor slice(int64_t begin, int64_t end) const;
  // Returns the elements with another shape, sharing memory. Errors: INVALID_ARGUMENT if the counts
  // differ.
  Tensor reshape(Shape shape) const;
  Tensor clone() const;
  // Converts the elements as convert_element (base/convert.h) does: floats to integers truncate,
  // saturate, and map NaN to 0; integers to integers wrap; to pred is != 0. Returns the same handle
  // for the same dtype. Errors: INVALID_ARGUMENT if either dtype is not numeric.
  Tensor cast(DType dtype) const;
  // Returns whether no other Tensor shares the buffer.
  bool unique() const { return buffer_ != nullptr && buffer_.use_count() == 1; }
  // Returns whether its memory is from Tensor::lent().
  bool is_lent() const;

  // Returns "f32[2,3] {{1, 2, 3}, {4, 5, 6}}", with "..." after `max_elements` elements.
  std::string to_string(int64_t max_elements = 100) const;

  // Returns whether types are equal and elements bit-identical.
  bool identical(const Tensor& other) const;

 private:
  void check_dtype(DType wanted) const {
    if (wanted != dtype_) throw_dtype(wanted);
  }
  [[noreturn]] void throw_dtype(DType wanted) const;
  void check_single() const;
  double single_as_double() const;
  int64_t single_as_integer(DType wanted) const;  // of u64 the same bits

  std::shared_ptr<TensorBuffer> buffer_;
  std::byte* data_ = nullptr;
  int64_t num_elements_ = 0;
  Shape shape_;
  DType dtype_ = DType::invalid;
};

// Prints to_string().
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// Errors: INVALID_ARGUMENT unless `shape` is static and has `got` elements.
void check_element_count(const Shape& shape, size_t got);

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> elements) {
  check_element_count(shape, elements.size());
  Tensor result(dtype_of<T>(), std::move(shape));
  std::copy(elements.begin(), elements.end(), result.data<T>().begin());
  return result;
}

// std::vector<bool> has no span.
template <>
inline Tensor Tensor::of<bool>(Shape shape, const std::vector<bool>& elements) {
  check_element_count(shape, elements.size());
  Tensor result(DType::pred, std::move(shape));
  std::copy(elements.begin(), elements.end(), result.data<bool>().begin());
  return result;
}

}  // namespace systole
