#include "systole/base/error.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// The layout of a format like IEEE-754's.
struct Format {
  int exponent_bits;
  int mantissa_bits;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5, 10};
    case DType::bf16:
      return {8, 7};
    case DType::f32:
      return {8, 23};
    default:
      return {11, 52};
  }
}

uint64_t low_ones(int n) { return (uint64_t{1} << n) - 1; }

// Rounds to nearest, ties to even. A carry may change the exponent.
uint64_t round_mantissa(uint64_t bits, Format from, int mantissa_bits) {
  const int dropped = from.mantissa_bits - mantissa_bits;
  if (dropped <= 0) return bits;
  const uint64_t last_kept = (bits >> dropped) & 1;
  return (bits + low_ones(dropped - 1) + last_kept) & ~low_ones(dropped);
}

// Exponents beyond the narrower range become infinity or zero. Subnormals of the narrower format
// become zero.
uint64_t clamp_exponent(uint64_t bits, Format from, int exponent_bits) {
  if (exponent_bits >= from.exponent_bits) return bits;
  const uint64_t bias = low_ones(from.exponent_bits - 1);
  const uint64_t narrow_bias = low_ones(exponent_bits - 1);
  const uint64_t sign = bits & (uint64_t{1} << (from.exponent_bits + from.mantissa_bits));
  const uint64_t exponent = (bits >> from.mantissa_bits) & low_ones(from.exponent_bits);
  if (exponent > bias + narrow_bias)
    return sign | low_ones(from.exponent_bits) << from.mantissa_bits;
  return exponent <= bias - narrow_bias ? sign : bits;
}

uint64_t reduce(uint64_t bits, Format from, const ReducePrecisionAttrs& to) {
  const uint64_t infinity = low_ones(from.exponent_bits) << from.mantissa_bits;
  const bool is_nan = (bits & low_ones(from.exponent_bits + from.mantissa_bits)) > infinity;
  // A format without a mantissa has no NaN.
  if (is_nan) return to.mantissa_bits > 0 ? bits : infinity;
  return clamp_exponent(round_mantissa(bits, from, to.mantissa_bits), from, to.exponent_bits);
}

std::vector<TensorType> infer_reduce_precision(const InferContext& context) {
  const TensorType& x = context.operand(0);
  const auto& attrs = context.get<ReducePrecisionAttrs>();
  if (!is_floating(x.dtype)) {  // I1
    throw invalid_argument("reduce_precision: element type, got {}, expected floating-point",
                           x.dtype);
  }
  if (attrs.exponent_bits < 1) {  // C2
    throw invalid_argument("reduce_precision: exponent_bits, got {}, expected >= 1",
                           attrs.exponent_bits);
  }
  if (attrs.mantissa_bits < 0) {  // C3
    throw invalid_argument("reduce_precision: mantissa_bits, got {}, expected >= 0",
                           attrs.mantissa_bits);
  }
  return {x};  // C1
}

std::vector<Tensor> evaluate_reduce_precision(const Instruction& instruction,
                                              std::span<const Tensor> operands, const Evaluator&) {
  const Tensor& x = operands[0];
  Tensor result(x.type());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    set_element_bits(result, i,
                     reduce(element_bits(x, i), format_of(x.dtype()),
                            instruction.attrs<ReducePrecisionAttrs>()));
  }
  return {result};
}

}  // namespace

extern const OpSemantics reduce_precision_semantics{
    .infer = infer_reduce_precision,
    .evaluate = evaluate_reduce_precision,
    .format = AssemblyFormat{"$*, format = e<exponent_bits>m<mantissa_bits>", TypeForm::same},
    .example = OpExample{
        .parameters = "%a: tensor<4x$T>",
        .results = "tensor<4x$T>",
        .body =
            R"(%r = "stablehlo.reduce_precision"(%a) {exponent_bits = 4 : i32, mantissa_bits = 3 : i32} : (tensor<4x$T>) -> tensor<4x$T>)"}};

}  // namespace systole::hlo::ops
