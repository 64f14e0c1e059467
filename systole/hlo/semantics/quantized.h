// Quantized types in ops: result types and reference values.
//
// Ops that move elements move their integers. Products sum the products of integers less their zero
// points exactly, modulo 2^32, and rescale the sum once. All other ops follow the specification:
// operands are dequantized, the op runs on real numbers in f32, and the result is quantized.
// Exceptions, equal over the reals: additions and subtractions of 32-bit integers of one type add
// the integers, modulo 2^32; maximum, minimum and clamp of one type compare the integers.
//
// Rescaling follows the module's attribute `systole.rounding`. Without it, sums are multiplied in
// f64 and rounded to the nearest integer, ties to even; uniform_quantize is computed in f32. With
// "tflite" or "single" (base/fixed_point.h) products, uniform_quantize of quantized operands,
// and add and multiply of at most 16 bits use integers only, as TensorFlow Lite and the TPU do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/base/fixed_point.h"
#include "systole/base/quantized_type.h"
#include "systole/base/tensor.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// The name of the module attribute; its values are "tflite" and "single".
inline constexpr std::string_view kRoundingAttribute = "systole.rounding";

// Returns the rounding that the module asks for; nullopt for the specification's. Errors:
// INVALID_ARGUMENT for another value of the attribute.
std::optional<FixedPointRounding> rounding_of(const Module& module);

// How an opcode treats quantized operands.
enum class QuantizedRule : uint8_t {
  moves,     // moves integers; runs on the storage types
  integers,  // computes integers of one type; runs on the storage types
  product,   // dot_general, convolution
  own,       // the op's own semantics handles quantized types
  real,      // dequantizes, computes, quantizes
};
// Returns the rule of an instruction, or of its description before it exists.
QuantizedRule quantized_rule(Opcode opcode, std::span<const TensorType> operands,
                             std::span<const TensorType> results);

// Returns whether an operand or a result has a quantized type.
bool is_quantized(const Instruction& instruction);
bool is_quantized(const InferContext& context);

// Returns the result types of an op with a quantized operand or declared result. Errors:
// INVALID_ARGUMENT for a violated constraint; UNIMPLEMENTED for an op that has no rule.
std::vector<TensorType> infer_quantized(const InferContext& context);

// Returns the reference values of such an op.
std::vector<Tensor> evaluate_quantized(const Instruction& instruction,
                                       std::span<const Tensor> operands,
                                       const Evaluator& evaluator);

// Returns the real numbers of `x`, in f32. `type` is x's type with its quantization.
Tensor dequantize(const Tensor& x, const TensorType& type);
// Returns the integers of the real numbers `x`, an f32 tensor. NaN becomes 0.
Tensor quantize(const Tensor& x, const TensorType& type);

// Returns the integers of `to` for those of `from`, with one fixed-point product each.
Tensor requantize(const Tensor& x, const TensorType& from, const TensorType& to,
                  FixedPointRounding rounding);

// The factors of the shift-and-multiply forms that integer rounding uses, by TensorFlow Lite's
// formulas. The left shift of a sum: 20 for results of 8 bits, 15 for 16 bits.
struct AddFactors {
  int left_shift = 0;
  FixedPointFactor lhs;
  FixedPointFactor rhs;
  FixedPointFactor result;
};
AddFactors add_factors(const TensorType& lhs, const TensorType& rhs, const TensorType& result);

// Returns the real factor from sums of products to result integers, one or one per output channel:
// scale(lhs) * scale(rhs) / scale(result). A factor within 1e-6 of 1, the error of scales written
// in f32, is 1: it leaves sums unchanged.
std::vector<double> product_factors(const TensorType& lhs, const TensorType& rhs,
                                    const TensorType& result);

// Returns the factors of requantize: scale(from) / scale(to), one or one per index.
std::vector<double> requantization_factors(const TensorType& from, const TensorType& to);

// Returns the dimension of a product's result that dimension `axis` of rhs becomes; -1 if it is
// contracted.
int product_result_axis(const Instruction& product, int axis);
// Returns the dimension that rhs's quantization dimension becomes; -1 if rhs has one scale.
int product_channel_axis(const Instruction& product);

// Returns whether an add or multiply has the types for which integer rounding, if the module asks
// for it, replaces the arithmetic on real numbers.
bool uses_fixed_point(const Instruction& instruction);

}  // namespace systole::hlo
