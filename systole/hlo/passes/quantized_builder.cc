#include "systole/hlo/passes/quantized_builder.h"

#include <algorithm>
#include <limits>

#include "systole/hlo/semantics/quantized.h"

namespace systole::hlo {
namespace {

std::vector<double> as_doubles(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<double> scales_of(const QuantizedType& type) {
  std::vector<double> scales;
  for (size_t i = 0; i < type.scales.size(); ++i) {
    scales.push_back(static_cast<double>(type.scale(i)));
  }
  return scales;
}

template <class F>
std::vector<double> for_each_factor(std::span<const FixedPointFactor> factors, F f) {
  std::vector<double> values;
  for (const FixedPointFactor& factor : factors) values.push_back(static_cast<double>(f(factor)));
  return values;
}

}  // namespace

Value QuantizedBuilder::numbers(DType dtype, const Shape& shape, int axis,
                                std::span<const double> values) {
  const bool equal = std::ranges::all_of(values, [&](double value) { return value == values[0]; });
  if (equal && !values.empty()) return b_.splat({dtype, shape}, values[0]);
  const std::vector<double> elements(values.begin(), values.end());
  const Tensor constant = Tensor::of<double>({static_cast<int64_t>(elements.size())}, elements);
  return b_.broadcast_in_dim(b_.constant(constant.cast(dtype)), shape, {axis});
}

Value QuantizedBuilder::centered(Value x, const QuantizedType& type) {
  const Value wide = b_.convert(x, DType::s32);
  if (!type.has_zero_points()) return wide;
  return b_.subtract(wide, numbers(DType::s32, x.shape(), type.axis, as_doubles(type.zero_points)));
}

Value QuantizedBuilder::dequantize(Value x, const QuantizedType& type) {
  const Value real = b_.convert(centered(x, type), DType::f32);
  return b_.multiply(real, numbers(DType::f32, x.shape(), type.axis, scales_of(type)));
}

Value QuantizedBuilder::quantize(Value x, const TensorType& type) {
  const QuantizedType& q = *type.quantized;
  Value value = b_.divide(x, numbers(DType::f32, x.shape(), q.axis, scales_of(q)));
  if (q.has_zero_points()) {
    value = b_.add(value, numbers(DType::f32, x.shape(), q.axis, as_doubles(q.zero_points)));
  }
  value = b_.op(Opcode::clamp, {b_.scalar(DType::f32, static_cast<double>(q.storage_min)), value,
                                b_.scalar(DType::f32, static_cast<double>(q.storage_max))})
              ->result();
  return b_.convert(b_.unary(Opcode::round_nearest_even, value), type.dtype);
}

// Rounding ties up is an addition of half and an arithmetic shift. Rounding ties away from zero
// adds one less to negative numbers.
Value QuantizedBuilder::fixed_point_multiply(Value x, std::span<const FixedPointFactor> factors,
                                             int axis, FixedPointRounding rounding) {
  const Shape& shape = x.shape();
  const auto constants = [&](DType dtype, const auto& f) {
    return numbers(dtype, shape, axis, for_each_factor(factors, f));
  };
  const auto shift_right = [this](Value value, Value by) {
    return b_.binary(Opcode::shift_right_arithmetic, value, by);
  };
  const auto multiplier = [&] {
    return constants(DType::s64, [](FixedPointFactor f) { return f.multiplier; });
  };
  if (rounding == FixedPointRounding::single) {
    const Value product = b_.multiply(b_.convert(x, DType::s64), multiplier());
    const Value half =
        constants(DType::s64, [](FixedPointFactor f) { return int64_t{1} << (30 - f.shift); });
    const Value total = constants(DType::s64, [](FixedPointFactor f) { return 31 - f.shift; });
    return b_.convert(shift_right(b_.add(product, half), total), DType::s32);
  }
  if (std::ranges::any_of(factors, [](FixedPointFactor f) { return f.shift > 0; })) {
    const Value left =
        constants(DType::s32, [](FixedPointFactor f) { return std::max(f.shift, 0); });
    x = b_.binary(Opcode::shift_left, x, left);
  }
  const Value product = b_.multiply(b_.convert(x, DType::s64), multiplier());
  Value high = shift_right(b_.add(product, b_.splat({DType::s64, shape}, 1 << 30)),
                           b_.splat({DType::s64, shape}, 31));
  if (std::ranges::all_of(factors, [](FixedPointFactor f) { return f.shift >= 0; })) {
    return b_.convert(high, DType::s32);
  }
  const Value sign = shift_right(high, b_.splat({DType::s64, shape}, 63));
  const Value half = constants(DType::s64, [](FixedPointFactor f) {
    return f.shift < 0 ? int64_t{1} << (-f.shift - 1) : int64_t{0};
  });
  const Value rounded =
      constants(DType::s64, [](FixedPointFactor f) { return f.shift < 0 ? -1 : 0; });
  high = b_.add(b_.add(high, half), b_.binary(Opcode::and_, sign, rounded));
  const Value right =
      constants(DType::s64, [](FixedPointFactor f) { return std::max(-f.shift, 0); });
  return b_.convert(shift_right(high, right), DType::s32);
}

Value QuantizedBuilder::finish(Value x, int axis, const TensorType& type) {
  const QuantizedType& q = *type.quantized;
  const auto bounds = [&](int64_t bound) {
    std::vector<double> values;
    for (const int64_t zero : q.zero_points) {
      values.push_back(static_cast<double>(std::clamp<int64_t>(
          bound - zero, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
    }
    return numbers(DType::s32, x.shape(), axis, values);
  };
  const bool full = q.storage_min == std::numeric_limits<int32_t>::min() &&
                    q.storage_max == std::numeric_limits<int32_t>::max();
  if (!full || q.has_zero_points()) {
    x = b_.op(Opcode::clamp, {bounds(q.storage_min), x, bounds(q.storage_max)})->result();
  }
  if (q.has_zero_points()) {
    x = b_.add(x, numbers(DType::s32, x.shape(), axis, as_doubles(q.zero_points)));
  }
  return b_.convert(x, type.dtype);
}

Value QuantizedBuilder::rescale(Value x, const std::vector<double>& factors, int axis,
                                const TensorType& type,
                                std::optional<FixedPointRounding> rounding) {
  if (std::ranges::all_of(factors, [](double factor) { return factor == 1; })) {
    return finish(x, axis, type);
  }
  if (rounding) {
    std::vector<FixedPointFactor> fixed;
    for (const double factor : factors) fixed.push_back(fixed_point_factor(factor));
    Value scaled = fixed_point_multiply(x, fixed, axis, *rounding);
    if (std::ranges::find(factors, 1.0) != factors.end()) {
      std::vector<double> ones;
      for (const double factor : factors) ones.push_back(factor == 1 ? 1 : 0);
      scaled = b_.select(numbers(DType::pred, x.shape(), axis, ones), x, scaled);
    }
    return finish(scaled, axis, type);
  }
  const QuantizedType& q = *type.quantized;
  Value value =
      b_.multiply(b_.convert(x, DType::f64), numbers(DType::f64, x.shape(), axis, factors));
  if (q.has_zero_points()) {
    value = b_.add(value, numbers(DType::f64, x.shape(), axis, as_doubles(q.zero_points)));
  }
  value = b_.op(Opcode::clamp, {b_.scalar(DType::f64, static_cast<double>(q.storage_min)), value,
                                b_.scalar(DType::f64, static_cast<double>(q.storage_max))})
              ->result();
  return b_.convert(b_.unary(Opcode::round_nearest_even, value), type.dtype);
}

Value QuantizedBuilder::add(Value lhs, Value rhs, const TensorType& lhs_type,
                            const TensorType& rhs_type, const TensorType& type,
                            FixedPointRounding rounding) {
  const AddFactors factors = add_factors(lhs_type, rhs_type, type);
  const auto scaled = [&](Value x, const TensorType& from, const FixedPointFactor& factor) {
    const Value shift = b_.splat({DType::s32, x.shape()}, factors.left_shift);
    const Value shifted = b_.binary(Opcode::shift_left, centered(x, *from.quantized), shift);
    return fixed_point_multiply(shifted, {&factor, 1}, -1, rounding);
  };
  const Value sum = b_.add(scaled(lhs, lhs_type, factors.lhs), scaled(rhs, rhs_type, factors.rhs));
  return finish(fixed_point_multiply(sum, {&factors.result, 1}, -1, rounding), -1, type);
}

}  // namespace systole::hlo
