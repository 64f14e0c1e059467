#include "systole/keras/preprocessing/utils.h"

#include <algorithm>
#include <cmath>

namespace systole::keras::utils {

Tensor to_categorical(const Tensor& y, std::optional<int64_t> num_classes) {
  if (!is_numeric(y.dtype())) {
    throw invalid_argument("to_categorical: classes, got {}, expected integers", y.type());
  }
  const Tensor classes = y.cast(DType::s64);
  const auto ids = classes.data<int64_t>();
  for (const int64_t id : ids) {
    if (id >= 0) continue;
    throw invalid_argument("to_categorical: class, got {}, expected a number from 0", id);
  }
  const int64_t count =
      num_classes.value_or(ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1);
  Dims dims(y.shape().begin(), y.shape().end());
  if (dims.size() > 1 && dims.back() == 1) dims.pop_back();
  dims.push_back(std::max<int64_t>(count, 0));
  Tensor result = Tensor::zeros(DType::f32, Shape(dims));
  auto* row = result.data<float>().data();
  for (const int64_t id : ids) {
    if (id >= count) {
      throw invalid_argument("to_categorical: class, got {}, expected 0 to {}", id, count - 1);
    }
    row[id] = 1;
    row += count;
  }
  return result;
}

Tensor normalize(const Tensor& x, int64_t axis, int64_t order) {
  if (order < 1 || x.rank() < 1) {
    throw invalid_argument("normalize: got order {} and {}, expected an order from 1 and an array",
                           order, x.type());
  }
  const int place = normalize_axis("normalize", axis, x.rank());
  Tensor result = x.cast(is_floating(x.dtype()) ? x.dtype() : DType::f64).clone();
  const DType dtype = result.dtype();
  if (dtype != DType::f64) result = result.cast(DType::f64);
  const auto values = result.data<double>();
  const Dims strides = x.shape().strides();
  const int64_t stride = strides[place];
  const int64_t length = x.dim(place);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    if (i / stride % length != 0) continue;
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) {
      sum += std::pow(std::abs(values[i + k * stride]), static_cast<double>(order));
    }
    const double norm = std::pow(sum, 1.0 / static_cast<double>(order));
    for (int64_t k = 0; k < length; ++k) {
      values[i + k * stride] /= norm == 0 ? 1 : norm;
    }
  }
  return result.cast(dtype);
}

}  // namespace systole::keras::utils
