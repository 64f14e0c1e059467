// Functions of math_ops.h that are made of other ops: arithmetic, activations, conversions,
// operators.
#include <numbers>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/gradients/indexed_slices.h"

namespace systole {
namespace {

// The dtype that operands of `dtype` are divided in, as TensorFlow's table for Python 3 has it.
DType quotient_dtype(DType dtype) {
  if (!is_integer(dtype)) return dtype;
  return dtype_info(dtype).bits <= 16 ? DType::f32 : DType::f64;
}

}  // namespace

// -- Arithmetic

Output truediv(const Input& x, const Input& y, const NameOptions& options) {
  const DType dtype = common_dtype({x, y});
  const DType quotient = quotient_dtype(dtype);
  if (quotient == dtype)
    return realdiv(x, y, {.name = options.name.empty() ? "truediv" : options.name});
  const CompositionScope scope(x, options.name, "truediv");
  const Output a = resolve("truediv", x, dtype);
  const Output b = resolve("truediv", y, dtype);
  if (a.dtype() != b.dtype()) {
    throw at_line(
        invalid_argument("truediv: dtypes, got {} and {}, expected equal ones", a.type(), b.type()),
        x.where());
  }
  return realdiv(cast(a, quotient), cast(b, quotient), scope.result());
}

Output divide(const Input& x, const Input& y, const NameOptions& options) {
  return truediv(x, y, options);
}

Output mod(const Input& x, const Input& y, const NameOptions& options) {
  return floormod(x, y, options);
}

Output logical_xor(const Input& x, const Input& y, const NameOptions& options) {
  const CompositionScope scope(x, options.name, "LogicalXor");
  const Output a = resolve("LogicalXor", x);
  const Output b = resolve("LogicalXor", y);
  return logical_and(logical_or(a, b), logical_not(logical_and(a, b)), scope.result());
}

Output clip_by_value(const Input& t, const Input& clip_value_min, const Input& clip_value_max,
                     const NameOptions& options) {
  const CompositionScope scope(t, options.name, "clip_by_value");
  const Output value =
      resolve("clip_by_value", t, common_dtype({t, clip_value_min, clip_value_max}));
  const auto slices = indexed_slices(value);
  const auto is_scalar = [&](const Input& limit) {
    return resolve("clip_by_value", limit, value.dtype()).shape().rank() == 0;
  };
  if (slices && is_scalar(clip_value_min) && is_scalar(clip_value_max)) {
    const Output clipped = clip_by_value(slices->values, clip_value_min, clip_value_max);
    return with_slices(value, {clipped, slices->indices});
  }
  const Output clipped = maximum(minimum(value, clip_value_max), clip_value_min, scope.result());
  if (clipped.shape().rank() == value.shape().rank() &&
      clipped.shape().compatible_with(value.shape()))
    return clipped;
  throw at_line(invalid_argument(
                    "clip_by_value: shapes of the limits, got {} after broadcasting, expected {}",
                    clipped.shape(), value.shape()),
                t.where());
}

// -- Activations

Output gelu(const Input& features, const GeluOptions& options) {
  const CompositionScope scope(features, options.name, "Gelu");
  const Output x = resolve_as("Gelu", features, DTypeClass::floating);
  if (options.approximate) {
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const Output inner = scale * (x + 0.044715 * x * square(x));
    return multiply(0.5 * x, 1 + tanh(inner), scope.result());
  }
  return multiply(0.5 * x, 1 + erf(x / std::numbers::sqrt2), scope.result());
}

// -- Conversions

namespace {

Output convert_to(const Input& x, DType dtype, const NameOptions& options, std::string_view name) {
  return cast(x, dtype, {.name = options.name.empty() ? std::string(name) : options.name});
}

}  // namespace

Output to_float(const Input& x, const NameOptions& options) {
  return convert_to(x, DType::f32, options, "ToFloat");
}
Output to_double(const Input& x, const NameOptions& options) {
  return convert_to(x, DType::f64, options, "ToDouble");
}
Output to_bfloat16(const Input& x, const NameOptions& options) {
  return convert_to(x, DType::bf16, options, "ToBFloat16");
}
Output to_int32(const Input& x, const NameOptions& options) {
  return convert_to(x, DType::s32, options, "ToInt32");
}
Output to_int64(const Input& x, const NameOptions& options) {
  return convert_to(x, DType::s64, options, "ToInt64");
}

// -- Operators

Output operator+(const Input& x, const Input& y) { return add(x, y, {.name = "add"}); }
Output operator-(const Input& x, const Input& y) { return subtract(x, y, {.name = "sub"}); }
Output operator*(const Input& x, const Input& y) { return multiply(x, y, {.name = "mul"}); }
Output operator/(const Input& x, const Input& y) { return truediv(x, y); }
Output operator%(const Input& x, const Input& y) { return floormod(x, y, {.name = "mod"}); }
Output operator-(const Input& x) { return negative(x); }
Output operator<(const Input& x, const Input& y) { return less(x, y); }
Output operator<=(const Input& x, const Input& y) { return less_equal(x, y); }
Output operator>(const Input& x, const Input& y) { return greater(x, y); }
Output operator>=(const Input& x, const Input& y) { return greater_equal(x, y); }

}  // namespace systole
