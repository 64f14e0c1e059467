// Quantized types of instructions: their rules and result types. quantized.h has the arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/base/fixed_point.h"
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

// Returns the dimension of a product's result that dimension `axis` of rhs becomes; -1 if it is
// contracted.
int product_result_axis(const Instruction& product, int axis);
// Returns the dimension that rhs's quantization dimension becomes; -1 if rhs has one scale.
int product_channel_axis(const Instruction& product);

// Returns whether an add or multiply has the types for which integer rounding, if the module asks
// for it, replaces the arithmetic on real numbers.
bool uses_fixed_point(const Instruction& instruction);

}  // namespace systole::hlo
