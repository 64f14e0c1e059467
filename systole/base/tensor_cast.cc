#include <algorithm>
#include <cstring>
#include <span>

#include "systole/base/convert.h"
#include "systole/base/small_float.h"
#include "systole/base/tensor.h"

namespace systole {
namespace {

// Returns the values of floats below 16 bits.
Tensor decoded(const Tensor& codes) {
  Tensor result(DType::f32, codes.shape());
  const auto* bytes = static_cast<const uint8_t*>(codes.raw());
  const std::span<const float, 256> values = small_float_values(codes.dtype());
  std::transform(bytes, bytes + codes.num_elements(), result.data<float>().begin(),
                 [&](uint8_t code) { return values[code]; });
  return result;
}

Tensor encoded(const Tensor& x, DType dtype) {
  Tensor result(dtype, x.shape());
  auto* codes = static_cast<uint8_t*>(result.raw());
  visit_dtype(x.dtype(), [&]<class T>() {
    std::ranges::transform(x.data<T>(), codes, [&](T value) {
      return encode_small_float(dtype, convert_element<double>(value));
    });
  });
  return result;
}

}  // namespace

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (!is_numeric(dtype_) || !is_numeric(dtype)) {
    throw invalid_argument("Tensor.cast: dtypes, got {} to {}, expected two numeric ones", dtype_,
                           dtype);
  }
  if (is_small_float(dtype_)) return decoded(*this).cast(dtype);
  if (is_small_float(dtype)) return encoded(*this, dtype);
  Tensor result(dtype, shape_);
  visit_dtype(dtype_, [&]<class From>() {
    const std::span<const From> from = data<From>();
    visit_dtype(dtype, [&]<class To>() {
      std::ranges::transform(from, result.data<To>().begin(), convert_element<To, From>);
    });
  });
  return result;
}

Tensor Tensor::full(DType dtype, Shape shape, double value) {
  if (!is_numeric(dtype)) {
    throw invalid_argument("Tensor.full: dtype, got {}, expected a numeric one", dtype);
  }
  Tensor result(dtype, std::move(shape));
  if (is_small_float(dtype)) {
    std::memset(result.raw(), encode_small_float(dtype, value),
                static_cast<size_t>(result.byte_size()));
    return result;
  }
  visit_dtype(dtype,
              [&]<class T>() { std::ranges::fill(result.data<T>(), convert_element<T>(value)); });
  return result;
}

double Tensor::as_double(int64_t index) const {
  if (index < 0 || index >= num_elements_) {
    throw invalid_argument("Tensor.as_double: index, got {}, expected in [0, {})", index,
                           num_elements_);
  }
  if (is_small_float(dtype_)) {
    return small_float_values(dtype_)[static_cast<const uint8_t*>(raw())[index]];
  }
  return visit_dtype(
      dtype_, [&]<class T>() -> double { return convert_element<double>(data<T>()[index]); });
}

}  // namespace systole
