// Builds the arithmetic of quantized types from ops on integers and real numbers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "systole/base/fixed_point.h"
#include "systole/base/quantized_type.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {

// Values have storage types; the quantized types are passed beside them.
class QuantizedBuilder {
 public:
  explicit QuantizedBuilder(Builder& builder) : b_(builder) {}

  // The real numbers of `x`, in f32.
  Value dequantize(Value x, const QuantizedType& type);
  // The integers of the real numbers `x`.
  Value quantize(Value x, const TensorType& type);
  // The integers less their zero points, in s32.
  Value centered(Value x, const QuantizedType& type);
  // x * factors, rounded, as integers of `type`. `x` is s32; one factor or one per index of `axis`.
  Value rescale(Value x, const std::vector<double>& factors, int axis, const TensorType& type,
                std::optional<FixedPointRounding> rounding);
  // The sum of two s32 values, each less its zero point, by TensorFlow Lite's formula.
  Value add(Value lhs, Value rhs, const TensorType& lhs_type, const TensorType& rhs_type,
            const TensorType& type, FixedPointRounding rounding);

 private:
  // One number for the whole tensor, or one per index of `axis`.
  Value numbers(DType dtype, const Shape& shape, int axis, std::span<const double> values);
  Value fixed_point_multiply(Value x, std::span<const FixedPointFactor> factors, int axis,
                             FixedPointRounding rounding);
  // Adds the zero points to s32 values and clamps them to the integers of `type`.
  Value finish(Value x, int axis, const TensorType& type);

  Builder& b_;
};

}  // namespace systole::hlo
