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

#include <span>
#include <vector>

#include "systole/base/quantized_type.h"
#include "systole/base/tensor.h"
#include "systole/hlo/semantics/quantized_types.h"

namespace systole::hlo {

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

}  // namespace systole::hlo
