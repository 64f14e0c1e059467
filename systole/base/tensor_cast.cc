#include <algorithm>
#include <span>

#include "systole/base/convert.h"
#include "systole/base/tensor.h"

namespace systole {

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (!is_numeric(dtype_) || !is_numeric(dtype)) {
    throw invalid_argument("Tensor.cast: dtypes, got {} to {}, expected two numeric ones", dtype_,
                           dtype);
  }
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
  visit_dtype(dtype,
              [&]<class T>() { std::ranges::fill(result.data<T>(), convert_element<T>(value)); });
  return result;
}

double Tensor::as_double(int64_t index) const {
  if (index < 0 || index >= num_elements_) {
    throw invalid_argument("Tensor.as_double: index, got {}, expected in [0, {})", index,
                           num_elements_);
  }
  return visit_dtype(
      dtype_, [&]<class T>() -> double { return convert_element<double>(data<T>()[index]); });
}

}  // namespace systole
