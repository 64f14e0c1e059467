#include "systole/base/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "systole/base/quantized_type.h"

namespace systole {
namespace {

void check_dims(const Dims& dims) {
  for (const int64_t dim : dims) {
    if (dim < kUnknown) {
      throw invalid_argument("Shape: a dimension's size, got {}, expected >= 0 or -1 for unknown",
                             dim);
    }
  }
}

}  // namespace

Shape::Shape(std::initializer_list<int64_t> dims) : dims_(dims) { check_dims(dims_); }
Shape::Shape(std::span<const int64_t> dims) : dims_(dims.begin(), dims.end()) { check_dims(dims_); }
Shape::Shape(Dims dims) : dims_(std::move(dims)) { check_dims(dims_); }

bool Shape::is_static() const {
  return std::ranges::none_of(dims_, [](int64_t dim) { return dim == kUnknown; });
}

int64_t Shape::num_elements() const {
  if (!is_static())
    throw internal_error("Shape: num_elements, got {}, expected a static shape", *this);
  if (std::ranges::find(dims_, 0) != dims_.end()) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims_) {
    if (__builtin_mul_overflow(product, dim, &product)) {
      throw invalid_argument("Shape: number of elements, got {}, expected below 2^63", *this);
    }
  }
  return product;
}

Dims Shape::strides() const {
  Dims strides(dims_.size(), 1);
  if (num_elements() == 0) return strides;  // the product of the other sizes might overflow
  for (int i = rank() - 2; i >= 0; --i) {
    strides[i] = strides[static_cast<size_t>(i) + 1] * (*this)[i + 1];
  }
  return strides;
}

bool Shape::compatible_with(const Shape& other) const {
  return std::ranges::equal(dims_, other.dims_, [](int64_t a, int64_t b) {
    return a == b || a == kUnknown || b == kUnknown;
  });
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const int64_t dim : dims_) {
    if (text.size() > 1) text += ',';
    text += dim == kUnknown ? std::string("?") : std::to_string(dim);
  }
  return text + "]";
}

int normalize_axis(std::string_view op, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw invalid_argument("{}: axis, got {}, expected in [{}, {})", op, axis, -rank, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::string TensorType::to_string() const {
  if (quantized == nullptr) return fmt::format("{}{}", dtype, shape);
  return fmt::format("{}{}", quantized_text(dtype, *quantized), shape);
}

bool operator==(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.shape == b.shape && same_quantization(a.quantized, b.quantized);
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }
std::ostream& operator<<(std::ostream& out, const TensorType& type) {
  return out << type.to_string();
}

}  // namespace systole

fmt::format_context::iterator fmt::formatter<systole::Shape>::format(
    const systole::Shape& shape, fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format(shape.to_string(), context);
}

fmt::format_context::iterator fmt::formatter<systole::TensorType>::format(
    const systole::TensorType& type, fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format(type.to_string(), context);
}
