#include "systole/session/feed_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace systole {
namespace {

bool is_fed_number(DType dtype) { return is_integer(dtype) || is_floating(dtype); }

// Integers that `dtype` does not have would wrap around.
void check_holds(const Tensor& value, const Output& key, DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  const double above = std::ldexp(1.0, info.is_signed ? info.bits - 1 : info.bits);
  const double lowest = info.is_signed ? -above : 0.0;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const double element = value.as_double(i);
    if (element >= lowest && element < above) continue;
    throw invalid_argument("Session.run: value fed to '{}', got {}, expected values of {}",
                           key.name(), element, dtype);
  }
}

// The dtype that all of them can be given in.
DType dtype_of_all(const std::vector<Tensor>& tensors) {
  DType dtype = tensors.front().dtype();
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() == dtype) continue;
    if (!is_fed_number(dtype) || !is_fed_number(tensor.dtype())) {
      throw invalid_argument("feed: values of a list, got {} and {}, expected one dtype", dtype,
                             tensor.dtype());
    }
    dtype = DType::f64;
  }
  return dtype;
}

}  // namespace

Tensor FeedValue::of(const Output& key) && {
  if (!converts_ || !key.valid()) return std::move(tensor_);
  const DType from = tensor_.dtype();
  const DType to = key.dtype();
  if (from == to || !is_fed_number(from)) return std::move(tensor_);
  if (is_floating(to)) return tensor_.cast(to);
  if (!is_integer(to) || (!is_integer(from) && tensor_.num_elements() > 0)) {
    return std::move(tensor_);
  }
  check_holds(tensor_, key, to);
  return tensor_.cast(to);
}

FeedValue FeedValue::stacked(const std::vector<FeedValue>& values) {
  // Braces would make a list of the two.
  if (values.empty()) return FeedValue(Tensor(DType::f32, {0}), /*converts=*/true);
  std::vector<Tensor> tensors;
  for (const FeedValue& value : values) tensors.push_back(value.tensor_);
  const DType dtype = dtype_of_all(tensors);
  const Shape& shape = tensors.front().shape();
  Dims dims = {static_cast<int64_t>(values.size())};
  dims.insert(dims.end(), shape.begin(), shape.end());
  Tensor result(dtype, Shape(dims));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].shape() != shape) {
      throw invalid_argument("feed: rows of a list, got sizes {} and {}, expected equal ones",
                             shape, tensors[i].shape());
    }
    const Tensor row = tensors[i].dtype() == dtype ? tensors[i] : tensors[i].cast(dtype);
    Tensor place = result.slice(static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
    if (dtype == DType::string) {
      std::ranges::copy(row.data<std::string>(), place.data<std::string>().begin());
    } else if (row.byte_size() > 0) {
      std::memcpy(place.raw(), row.raw(), static_cast<size_t>(row.byte_size()));
    }
  }
  const bool converts =
      std::ranges::all_of(values, [](const FeedValue& value) { return value.converts_; });
  return FeedValue(std::move(result), converts);
}

}  // namespace systole
