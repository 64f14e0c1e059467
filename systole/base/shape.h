// Shapes: the dimensions of a tensor, and with a dtype its type.
#pragma once

#include <absl/container/inlined_vector.h>
#include <fmt/core.h>

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "systole/base/dtype.h"

namespace systole {

// A dimension whose size is known only when a program is specialized (usually the batch).
inline constexpr int64_t kUnknown = -1;

using Dims = absl::InlinedVector<int64_t, 6>;

// Maps `axis` in [-rank, rank) to [0, rank). Errors: INVALID_ARGUMENT that starts with `op`.
int normalize_axis(std::string_view op, int64_t axis, int rank);

// An ordered list of dimension sizes; row-major. A size is >= 0 or kUnknown. The rank is always
// known. A value type; no allocation up to rank 6. Errors: INVALID_ARGUMENT for a size below -1.
class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);
  explicit Shape(Dims dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  // Returns the size of an axis; -1 is the last one, as in Python. Errors: INVALID_ARGUMENT for an
  // axis out of range.
  int64_t operator[](int axis) const { return dims_[place_of(axis)]; }
  void set_dim(int axis, int64_t size) { dims_[place_of(axis)] = size; }
  const Dims& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  bool is_static() const;
  // Returns the product of the sizes, 0 if any is 0. REQUIRES: is_static(). Errors:
  // INVALID_ARGUMENT if the product does not fit in 63 bits.
  int64_t num_elements() const;
  // Returns the row-major strides in elements; all 1 if there are no elements. REQUIRES:
  // is_static().
  Dims strides() const;
  // Returns whether each size equals the other shape's or either is unknown.
  bool compatible_with(const Shape& other) const;

  std::string to_string() const;  // "[?,28,28]"

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  size_t place_of(int axis) const {
    if (axis >= 0 && axis < rank()) return static_cast<size_t>(axis);
    return static_cast<size_t>(normalize_axis("Shape", axis, rank()));
  }

  Dims dims_;
};

struct QuantizedType;

// The type of a tensor value: dtype and shape, and for integers that stand for real numbers how
// they do (base/quantized_type.h).
struct TensorType {
  DType dtype = DType::invalid;  // of a quantized type: its storage type
  Shape shape;
  std::shared_ptr<const QuantizedType> quantized = {};  // null if the type is not quantized

  bool is_static() const { return shape.is_static(); }
  bool is_quantized() const { return quantized != nullptr; }
  // Returns the type without quantization: the type of a Tensor or Buffer that holds the integers.
  TensorType storage() const { return {dtype, shape, {}}; }
  int64_t byte_size() const { return shape.num_elements() * size_of(dtype); }
  std::string to_string() const;  // "f32[?,28,28]", "!quant.uniform<i8:f32, 0.5>[2]"

  // Compares quantization by value.
  friend bool operator==(const TensorType& a, const TensorType& b);
};

// Print to_string().
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, const TensorType& type);

}  // namespace systole

template <>
struct fmt::formatter<systole::Shape> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(const systole::Shape& shape,
                                       fmt::format_context& context) const;
};
template <>
struct fmt::formatter<systole::TensorType> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(const systole::TensorType& type,
                                       fmt::format_context& context) const;
};
