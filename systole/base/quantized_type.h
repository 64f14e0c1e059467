// Quantized element types: integers that stand for real numbers, real = (integer - zero point) *
// scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/dtype.h"
#include "systole/base/shape.h"

namespace systole {

// The parameters of a quantized element type, as StableHLO defines them. TensorType::dtype is the
// storage type. Immutable once it is part of a TensorType. A value type.
struct QuantizedType {
  DType expressed = DType::f32;  // the type of the real numbers
  int64_t storage_min = 0;       // the bounds of the integers, inclusive
  int64_t storage_max = 0;
  int axis = -1;  // the quantization dimension; -1: the whole tensor has one scale
  // One scale and one zero point, or one of each per index of `axis`.
  std::vector<double> scales;
  std::vector<int64_t> zero_points;

  bool per_axis() const { return axis >= 0; }
  // Returns the scale as a number of the expressed type f32, as the specification computes.
  float scale(size_t i) const { return static_cast<float>(scales[per_axis() ? i : 0]); }
  int64_t zero_point(size_t i) const { return zero_points[per_axis() ? i : 0]; }
  bool has_zero_points() const;  // other than 0

  friend bool operator==(const QuantizedType&, const QuantizedType&) = default;
};

using QuantizedTypePtr = std::shared_ptr<const QuantizedType>;

// The least and greatest integers of an integer dtype of at most 32 bits.
int64_t storage_minimum(DType storage);
int64_t storage_maximum(DType storage);

// Returns a type with one scale for the whole tensor and the bounds of `storage`.
QuantizedTypePtr per_tensor_type(DType storage, double scale, int64_t zero_point);
// Returns a type with one scale per index of `axis` and zero points of 0.
QuantizedTypePtr per_axis_type(DType storage, int axis, std::vector<double> scales);

// Returns whether both are null or equal.
bool same_quantization(const QuantizedTypePtr& a, const QuantizedTypePtr& b);

// "!quant.uniform<i8<-127:127>:f32:1, {0.1,0.2:3}>": MLIR's text, which stablehlo/text reads.
std::string quantized_text(DType storage, const QuantizedType& type);

// Checks the constraints C1 to C13 of quantized types. Does nothing without quantization. Errors:
// INVALID_ARGUMENT `<what>: <constraint>, got <value>, expected <value>`; UNIMPLEMENTED for storage
// types beyond 32 bits and expressed types other than f32.
void check_quantization(std::string_view what, const TensorType& type);

}  // namespace systole
