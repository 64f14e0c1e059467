#include "systole/base/quantized_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"

namespace systole {
namespace {

// MLIR's floating-point literals have a point: 1.0e-05.
std::string scale_text(double scale) {
  std::string text = fmt::format("{}", scale);
  if (text.find('.') != std::string::npos || !std::isfinite(scale)) return text;
  const size_t exponent = text.find('e');
  text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  return text;
}

std::string parameter_text(const QuantizedType& type, size_t i) {
  std::string text = scale_text(type.scales[i]);
  if (type.zero_points[i] != 0) text += fmt::format(":{}", type.zero_points[i]);
  return text;
}

void check_numbers(std::string_view what, const QuantizedType& type) {
  if (type.scales.size() != type.zero_points.size()) {  // C9
    throw invalid_argument("{}: number of zero points, got {}, expected {}, one a scale", what,
                           type.zero_points.size(), type.scales.size());
  }
  for (size_t i = 0; i < type.scales.size(); ++i) {
    const auto scale = static_cast<float>(type.scales[i]);
    if (!(scale > 0) || !std::isfinite(scale)) {  // C5, C6
      throw invalid_argument("{}: scale {}, got {}, expected a positive finite f32", what, i,
                             type.scales[i]);
    }
    const int64_t zero = type.zero_points[i];
    if (zero < type.storage_min || zero > type.storage_max) {  // C7
      throw invalid_argument("{}: zero point {}, got {}, expected in [{}, {}]", what, i, zero,
                             type.storage_min, type.storage_max);
    }
  }
}

}  // namespace

bool QuantizedType::has_zero_points() const {
  return std::ranges::any_of(zero_points, [](int64_t zero) { return zero != 0; });
}

int64_t storage_minimum(DType storage) {
  const DTypeInfo& info = dtype_info(storage);
  return info.is_signed ? -(int64_t{1} << (info.bits - 1)) : 0;
}

int64_t storage_maximum(DType storage) {
  const DTypeInfo& info = dtype_info(storage);
  return (int64_t{1} << (info.is_signed ? info.bits - 1 : info.bits)) - 1;
}

QuantizedTypePtr per_tensor_type(DType storage, double scale, int64_t zero_point) {
  return std::make_shared<const QuantizedType>(
      QuantizedType{.storage_min = storage_minimum(storage),
                    .storage_max = storage_maximum(storage),
                    .scales = {scale},
                    .zero_points = {zero_point}});
}

QuantizedTypePtr per_axis_type(DType storage, int axis, std::vector<double> scales) {
  std::vector<int64_t> zero_points(scales.size(), 0);
  return std::make_shared<const QuantizedType>(
      QuantizedType{.storage_min = storage_minimum(storage),
                    .storage_max = storage_maximum(storage),
                    .axis = axis,
                    .scales = std::move(scales),
                    .zero_points = std::move(zero_points)});
}

bool same_quantization(const QuantizedTypePtr& a, const QuantizedTypePtr& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a == b || *a == *b;
}

std::string quantized_text(DType storage, const QuantizedType& type) {
  const DTypeInfo& info = dtype_info(storage);
  std::string text = fmt::format("!quant.uniform<{}{}", info.is_signed ? 'i' : 'u', info.bits);
  if (type.storage_min != storage_minimum(storage) ||
      type.storage_max != storage_maximum(storage)) {
    text += fmt::format("<{}:{}>", type.storage_min, type.storage_max);
  }
  text += fmt::format(":{}", dtype_info(type.expressed).mlir_name);
  if (!type.per_axis()) return text + fmt::format(", {}>", parameter_text(type, 0));
  text += fmt::format(":{}, {{", type.axis);
  for (size_t i = 0; i < type.scales.size(); ++i) {
    if (i > 0) text += ',';
    text += parameter_text(type, i);
  }
  return text + "}>";
}

void check_quantization(std::string_view what, const TensorType& type) {
  if (type.quantized == nullptr) return;
  const QuantizedType& q = *type.quantized;
  const DTypeInfo& storage = dtype_info(type.dtype);
  if (!storage.integer || storage.bits > 32) {
    throw unimplemented("{}: storage type, got {}, expected an integer type of at most 32 bits",
                        what, type.dtype);
  }
  if (q.expressed != DType::f32) {
    throw unimplemented("{}: expressed type, got {}, expected f32", what, q.expressed);
  }
  if (q.storage_min < storage_minimum(type.dtype) || q.storage_min >= q.storage_max ||
      q.storage_max > storage_maximum(type.dtype)) {  // C3
    throw invalid_argument("{}: storage bounds, got [{}, {}], expected ascending ones in [{}, {}]",
                           what, q.storage_min, q.storage_max, storage_minimum(type.dtype),
                           storage_maximum(type.dtype));
  }
  check_numbers(what, q);
  if (!q.per_axis()) {
    if (q.scales.size() == 1) return;  // C10
    throw invalid_argument("{}: scales of a type without an axis, got {}, expected 1", what,
                           q.scales.size());
  }
  if (q.axis >= type.shape.rank()) {  // C12
    throw invalid_argument("{}: quantization dimension, got {}, expected below the rank {}", what,
                           q.axis, type.shape.rank());
  }
  const int64_t size = type.shape[q.axis];
  if (static_cast<int64_t>(q.scales.size()) != size) {  // C13
    throw invalid_argument("{}: number of scales, got {}, expected {}, the size of axis {}", what,
                           q.scales.size(), size, q.axis);
  }
}

}  // namespace systole
