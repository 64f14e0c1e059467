#include "systole/base/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "systole/base/block_cache.h"

namespace systole {

class TensorBuffer {
 public:
  TensorBuffer(DType dtype, int64_t count) : bytes_(static_cast<size_t>(count * size_of(dtype))) {
    if (bytes_ > sizeof(inline_)) data_ = static_cast<std::byte*>(allocate_block(bytes_));
    if (data_ == nullptr) {
      throw make_error(Code::resource_exhausted, "Tensor: no memory, got a request for {} bytes",
                       bytes_);
    }
    if (dtype == DType::string) {
      strings_ = static_cast<size_t>(count);
      std::uninitialized_default_construct_n(strings(), strings_);
    }
  }
  explicit TensorBuffer(void* lent)
      : data_(static_cast<std::byte*>(lent)), bytes_(0), is_lent_(true) {}
  TensorBuffer(void* adopted, std::shared_ptr<const void> owner)
      : data_(static_cast<std::byte*>(adopted)), bytes_(0), owner_(std::move(owner)) {}
  ~TensorBuffer() {
    std::destroy_n(strings(), strings_);
    if (bytes_ > sizeof(inline_)) free_block(data_, bytes_);
  }
  TensorBuffer(const TensorBuffer&) = delete;
  TensorBuffer& operator=(const TensorBuffer&) = delete;

  std::byte* data() { return data_; }
  bool is_lent() const { return is_lent_; }

 private:
  std::string* strings() { return static_cast<std::string*>(static_cast<void*>(data_)); }

  // Scalars are stored inline: data sets make millions of them.
  alignas(64) std::byte inline_[64];
  std::byte* data_ = inline_;
  size_t bytes_;
  size_t strings_ = 0;
  bool is_lent_ = false;
  std::shared_ptr<const void> owner_ = {};
};

Tensor::Tensor(DType dtype, Shape shape) : shape_(std::move(shape)), dtype_(dtype) {
  const bool token = dtype == DType::token && shape_.rank() == 0;
  if (!is_numeric(dtype) && dtype != DType::string && !token) {
    throw invalid_argument("Tensor: dtype, got {}, expected one with elements", dtype);
  }
  if (!shape_.is_static()) {
    throw invalid_argument("Tensor: shape, got {}, expected no unknown dimension", shape_);
  }
  num_elements_ = shape_.num_elements();
  if (num_elements_ > std::numeric_limits<int64_t>::max() / 64) {
    throw make_error(Code::resource_exhausted, "Tensor: no memory for {}{}", dtype, shape_);
  }
  buffer_ = std::make_shared<TensorBuffer>(dtype, num_elements_);
  data_ = buffer_->data();
}

Tensor::Tensor(float value) : Tensor(scalar(value)) {}
Tensor::Tensor(double value) : Tensor(scalar(value)) {}
Tensor::Tensor(int32_t value) : Tensor(scalar(value)) {}
Tensor::Tensor(int64_t value) : Tensor(scalar(value)) {}
Tensor::Tensor(bool value) : Tensor(of<bool>({}, {value})) {}
Tensor::Tensor(const char* value) : Tensor(scalar(std::string(value))) {}
Tensor::Tensor(std::string value) : Tensor(scalar(std::move(value))) {}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor result(dtype, std::move(shape));
  if (dtype != DType::string) {
    std::memset(result.raw(), 0, static_cast<size_t>(result.byte_size()));
  }
  return result;
}

Tensor Tensor::view(DType dtype, Shape shape, void* data) {
  Tensor result;
  result.dtype_ = dtype;
  result.num_elements_ = shape.num_elements();
  result.shape_ = std::move(shape);
  result.data_ = static_cast<std::byte*>(data);
  return result;
}

Tensor Tensor::lent(DType dtype, Shape shape, void* data) {
  Tensor result = view(dtype, std::move(shape), data);
  result.buffer_ = std::make_shared<TensorBuffer>(data);
  return result;
}

Tensor Tensor::adopt(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor result = view(dtype, std::move(shape), data);
  result.buffer_ = std::make_shared<TensorBuffer>(data, std::move(owner));
  return result;
}

bool Tensor::is_lent() const { return buffer_ != nullptr && buffer_->is_lent(); }

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  if (rank() == 0) throw invalid_argument("Tensor.slice: a scalar, expected rank >= 1");
  if (begin < 0 || end < begin || end > dim(0)) {
    throw invalid_argument("Tensor.slice: range, got [{}, {}), expected within [0, {})", begin, end,
                           dim(0));
  }
  Tensor result = *this;
  const int64_t row = dim(0) == 0 ? 0 : num_elements_ / dim(0);
  result.shape_.set_dim(0, end - begin);
  result.num_elements_ = row * (end - begin);
  result.data_ = data_ + row * begin * size_of(dtype_);
  return result;
}

Tensor Tensor::reshape(Shape shape) const {
  check_element_count(shape, static_cast<size_t>(num_elements_));
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::clone() const {
  if (!valid()) return {};
  Tensor result(dtype_, shape_);
  if (dtype_ == DType::string) {
    std::ranges::copy(data<std::string>(), result.data<std::string>().begin());
  } else {
    std::memcpy(result.data_, data_, static_cast<size_t>(byte_size()));
  }
  return result;
}

bool Tensor::identical(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  if (dtype_ == DType::string)
    return std::ranges::equal(data<std::string>(), other.data<std::string>());
  return num_elements_ == 0 ||
         std::memcmp(data_, other.data_, static_cast<size_t>(byte_size())) == 0;
}

void Tensor::throw_dtype(DType wanted) const {
  throw invalid_argument("Tensor: element type, got {} for a tensor of {}", wanted, dtype_);
}

void Tensor::check_single() const {
  if (num_elements_ != 1) {
    throw invalid_argument("Tensor.item: number of elements, got {}, expected 1", num_elements_);
  }
}

double Tensor::single_as_double() const {
  check_single();
  if (!is_numeric(dtype_) || is_complex(dtype_)) {
    throw invalid_argument("Tensor: conversion to a number, got {}, expected a real number",
                           type());
  }
  return as_double(0);
}

int64_t Tensor::single_as_integer(DType wanted) const {
  const double value = single_as_double();
  const Tensor converted = cast(wanted);
  // Below the power of two that no integer of the dtype reaches, a whole float converts exactly.
  const DTypeInfo& info = dtype_info(wanted);
  const double limit = std::ldexp(1.0, info.bits - (info.is_signed ? 1 : 0));
  const bool fits = is_floating(dtype_) ? value == std::trunc(value) && value < limit &&
                                              value >= -limit && (info.is_signed || value >= 0)
                                        : converted.cast(dtype_).identical(*this) &&
                                              (value < 0) == (converted.as_double(0) < 0);
  if (!fits) {
    throw invalid_argument("Tensor: conversion to a number, got {}, expected a value of {}",
                           to_string(), wanted);
  }
  return converted.cast(DType::s64).item<int64_t>();
}

void check_element_count(const Shape& shape, size_t got) {
  if (!shape.is_static()) {
    throw invalid_argument("Tensor: shape, got {}, expected no unknown dimension", shape);
  }
  if (shape.num_elements() != static_cast<int64_t>(got)) {
    throw invalid_argument("Tensor: number of elements, got {}, expected {} for shape {}", got,
                           shape.num_elements(), shape);
  }
}

}  // namespace systole
