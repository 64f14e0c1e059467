#include "systole/hlo/semantics/quantized.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "systole/base/error.h"
#include "systole/hlo/semantics/evaluator.h"

namespace systole::hlo {
namespace {

// Calls f(flat index, index of the quantization dimension) for all elements in row-major order.
template <class F>
void for_each_channel(const Shape& shape, int axis, F f) {
  const int64_t count = shape.num_elements();
  int64_t inner = 1;
  for (int i = axis + 1; axis >= 0 && i < shape.rank(); ++i) inner *= shape[i];
  const int64_t channels = axis < 0 ? 1 : shape[axis];
  for (int64_t i = 0; i < count; ++i) {
    f(static_cast<size_t>(i), static_cast<size_t>(i / inner % channels));
  }
}

int64_t within_bounds(int64_t value, const QuantizedType& type) {
  return std::clamp(value, type.storage_min, type.storage_max);
}

Tensor to_storage(const std::vector<int64_t>& values, const TensorType& type) {
  return Tensor::of<int64_t>(type.shape, values).cast(type.dtype);
}

// Evaluates the instruction's op on operands and results of other types.
std::vector<Tensor> evaluate_on(const Instruction& instruction, std::span<const Tensor> operands,
                                const std::vector<TensorType>& results,
                                const Evaluator& evaluator) {
  Module module;
  Computation& main = module.add_function("main");
  std::vector<Value> values;
  for (const Tensor& operand : operands) values.push_back(main.add_parameter(operand.type()));
  const Instruction* op =
      main.insert(instruction.opcode(), std::move(values), results, instruction.attrs());
  return semantics_of(instruction.opcode()).evaluate(*op, operands, evaluator);
}

Tensor dequantized(const Instruction& instruction, std::span<const Tensor> operands, int i) {
  const TensorType& type = instruction.operand(i).type();
  const Tensor& operand = operands[i];
  return type.is_quantized() ? dequantize(operand, type) : operand;
}

std::vector<Tensor> evaluate_real(const Instruction& instruction, std::span<const Tensor> operands,
                                  const Evaluator& evaluator) {
  std::vector<Tensor> real;
  for (int i = 0; i < instruction.num_operands(); ++i) {
    real.push_back(dequantized(instruction, operands, i));
  }
  std::vector<TensorType> types;
  for (const TensorType& type : instruction.results()) {
    types.push_back(type.is_quantized() ? TensorType{type.quantized->expressed, type.shape} : type);
  }
  std::vector<Tensor> results = evaluate_on(instruction, real, types, evaluator);
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType& type = instruction.results()[i];
    if (type.is_quantized()) results[i] = quantize(results[i], type);
  }
  return results;
}

std::vector<Tensor> evaluate_integers(const Instruction& instruction,
                                      std::span<const Tensor> operands,
                                      const Evaluator& evaluator) {
  return evaluate_on(instruction, operands, {instruction.type().storage()}, evaluator);
}

// The integers less their zero points.
Tensor centered(const Tensor& x, const TensorType& type) {
  Tensor result = x.dtype() == DType::s32 ? x.clone() : x.cast(DType::s32);
  const std::span<int32_t> values = result.data<int32_t>();
  for_each_channel(type.shape, type.quantized->axis, [&](size_t i, size_t channel) {
    values[i] = wrap_to_32(values[i] - type.quantized->zero_point(channel));
  });
  return result;
}

// Rescales 32-bit integers by a factor, or one per index of `axis`, to the type's integers.
Tensor rescaled(const Tensor& sums, const std::vector<double>& factors, int axis,
                const TensorType& type, std::optional<FixedPointRounding> rounding) {
  std::vector<FixedPointFactor> fixed;
  for (const double factor : factors) {
    if (rounding) fixed.push_back(fixed_point_factor(factor));
  }
  const std::span<const int32_t> in = sums.data<int32_t>();
  const QuantizedType& q = *type.quantized;
  std::vector<int64_t> out(in.size());
  for_each_channel(type.shape, axis, [&](size_t i, size_t channel) {
    const size_t k = factors.size() == 1 ? 0 : channel;
    const int64_t zero = q.zero_point(channel);
    if (factors[k] == 1) {
      out[i] = within_bounds(in[i] + zero, q);
    } else if (rounding) {
      out[i] = within_bounds(fixed_point_multiply(in[i], fixed[k], *rounding) + zero, q);
    } else {
      const double real = std::nearbyint(in[i] * factors[k] + static_cast<double>(zero));
      out[i] = static_cast<int64_t>(
          std::clamp(real, static_cast<double>(q.storage_min), static_cast<double>(q.storage_max)));
    }
  });
  return to_storage(out, type);
}

std::vector<Tensor> evaluate_product(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator& evaluator) {
  const TensorType& lhs = instruction.operand(0).type();
  const TensorType& rhs = instruction.operand(1).type();
  if (!lhs.is_quantized()) {
    return evaluate_on(instruction, std::vector<Tensor>{operands[0], dequantize(operands[1], rhs)},
                       {instruction.type()}, evaluator);
  }
  const std::vector<Tensor> integers{centered(operands[0], lhs), centered(operands[1], rhs)};
  const Tensor sums =
      evaluate_on(instruction, integers, {{DType::s32, instruction.shape()}}, evaluator)[0];
  const std::vector<double> factors = product_factors(lhs, rhs, instruction.type());
  return {rescaled(sums, factors,
                   std::max(product_channel_axis(instruction), instruction.type().quantized->axis),
                   instruction.type(), rounding_of(instruction.parent().module()))};
}

std::vector<Tensor> evaluate_fixed_point_add(const Instruction& instruction,
                                             std::span<const Tensor> operands,
                                             FixedPointRounding rounding) {
  const TensorType& type = instruction.type();
  const AddFactors factors =
      add_factors(instruction.operand(0).type(), instruction.operand(1).type(), type);
  const Tensor a = centered(operands[0], instruction.operand(0).type());
  const Tensor b = centered(operands[1], instruction.operand(1).type());
  Tensor sums(DType::s32, type.shape);
  for (size_t i = 0; i < sums.data<int32_t>().size(); ++i) {
    const auto scaled = [&](const Tensor& x, FixedPointFactor factor) {
      const int64_t shifted = int64_t{x.data<int32_t>()[i]} * (int64_t{1} << factors.left_shift);
      return int64_t{fixed_point_multiply(wrap_to_32(shifted), factor, rounding)};
    };
    const int32_t sum = wrap_to_32(scaled(a, factors.lhs) + scaled(b, factors.rhs));
    const int32_t result = fixed_point_multiply(sum, factors.result, rounding);
    sums.data<int32_t>()[i] = static_cast<int32_t>(
        within_bounds(int64_t{result} + type.quantized->zero_point(0), *type.quantized));
  }
  return {sums.cast(type.dtype)};
}

std::vector<Tensor> evaluate_fixed_point_multiply(const Instruction& instruction,
                                                  std::span<const Tensor> operands,
                                                  FixedPointRounding rounding) {
  const TensorType& lhs = instruction.operand(0).type();
  const TensorType& rhs = instruction.operand(1).type();
  Tensor products = centered(operands[0], lhs);
  const Tensor b = centered(operands[1], rhs);
  const std::span<int32_t> values = products.data<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = wrap_to_32(int64_t{values[i]} * b.data<int32_t>()[i]);
  }
  return {rescaled(products, product_factors(lhs, rhs, instruction.type()), -1, instruction.type(),
                   rounding)};
}

}  // namespace

Tensor dequantize(const Tensor& x, const TensorType& type) {
  const Tensor integers = centered(x, type);
  Tensor result(DType::f32, type.shape);
  for_each_channel(type.shape, type.quantized->axis, [&](size_t i, size_t channel) {
    result.data<float>()[i] =
        static_cast<float>(integers.data<int32_t>()[i]) * type.quantized->scale(channel);
  });
  return result;
}

Tensor quantize(const Tensor& x, const TensorType& type) {
  const QuantizedType& q = *type.quantized;
  Tensor result = x.clone();
  for_each_channel(type.shape, q.axis, [&](size_t i, size_t channel) {
    float& value = result.data<float>()[i];
    value = value / q.scale(channel) + static_cast<float>(q.zero_point(channel));
    if (std::isnan(value)) return;  // becomes 0
    value = std::nearbyint(
        std::clamp(value, static_cast<float>(q.storage_min), static_cast<float>(q.storage_max)));
  });
  return result.cast(type.dtype);
}

AddFactors add_factors(const TensorType& lhs, const TensorType& rhs, const TensorType& result) {
  const double a = lhs.quantized->scales[0];
  const double b = rhs.quantized->scales[0];
  const double twice_most = 2 * std::max(a, b);
  const int left = dtype_info(result.dtype).bits <= 8 ? 20 : 15;
  const double out = std::ldexp(result.quantized->scales[0], left);
  return {.left_shift = left,
          .lhs = fixed_point_factor(a / twice_most),
          .rhs = fixed_point_factor(b / twice_most),
          .result = fixed_point_factor(twice_most / out)};
}

std::vector<double> product_factors(const TensorType& lhs, const TensorType& rhs,
                                    const TensorType& result) {
  const std::vector<double>& from = rhs.quantized->scales;
  const std::vector<double>& to = result.quantized->scales;
  std::vector<double> factors(std::max(from.size(), to.size()));
  for (size_t i = 0; i < factors.size(); ++i) {
    const double scale = lhs.quantized->scales[0] * from[from.size() == 1 ? 0 : i];
    factors[i] = scale / to[to.size() == 1 ? 0 : i];
    if (std::abs(factors[i] - 1) < 1e-6) factors[i] = 1;
  }
  return factors;
}

std::vector<double> requantization_factors(const TensorType& from, const TensorType& to) {
  const size_t count = std::max(from.quantized->scales.size(), to.quantized->scales.size());
  std::vector<double> factors(count);
  for (size_t i = 0; i < count; ++i) {
    const auto scale = [i](const QuantizedType& q) { return q.scales[q.per_axis() ? i : 0]; };
    factors[i] = scale(*from.quantized) / scale(*to.quantized);
  }
  return factors;
}

Tensor requantize(const Tensor& x, const TensorType& from, const TensorType& to,
                  FixedPointRounding rounding) {
  return rescaled(centered(x, from), requantization_factors(from, to),
                  std::max(from.quantized->axis, to.quantized->axis), to, rounding);
}

std::vector<Tensor> evaluate_quantized(const Instruction& instruction,
                                       std::span<const Tensor> operands,
                                       const Evaluator& evaluator) {
  std::vector<TensorType> types;
  for (const Value& operand : instruction.operands()) types.push_back(operand.type());
  switch (quantized_rule(instruction.opcode(), types, instruction.results())) {
    case QuantizedRule::moves:
    case QuantizedRule::own:
      return semantics_of(instruction.opcode()).evaluate(instruction, operands, evaluator);
    case QuantizedRule::integers:
      return evaluate_integers(instruction, operands, evaluator);
    case QuantizedRule::product:
      return evaluate_product(instruction, operands, evaluator);
    case QuantizedRule::real:
      break;
  }
  const auto rounding = rounding_of(instruction.parent().module());
  if (!rounding || !uses_fixed_point(instruction)) {
    return evaluate_real(instruction, operands, evaluator);
  }
  return instruction.is(Opcode::add)
             ? evaluate_fixed_point_add(instruction, operands, *rounding)
             : evaluate_fixed_point_multiply(instruction, operands, *rounding);
}

}  // namespace systole::hlo
