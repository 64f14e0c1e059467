#include "systole/base/error.h"
#include "systole/hlo/semantics/quantized.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_uniform_quantize(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& result = context.declared_type();
  if (!result.is_quantized()) {
    throw invalid_argument("uniform_quantize: result, got {}, expected a quantized type", result);
  }
  if (result.shape != operand.shape) {  // C1
    throw invalid_argument("uniform_quantize: result shape, got {}, expected the operand's {}",
                           result.shape, operand.shape);
  }
  const DType real = operand.is_quantized() ? operand.quantized->expressed : operand.dtype;
  if (real != result.quantized->expressed) {  // C2
    throw invalid_argument("uniform_quantize: element type of operand, got {}, expected {}", real,
                           result.quantized->expressed);
  }
  return {result};
}

std::vector<Tensor> evaluate_uniform_quantize(const Instruction& instruction,
                                              std::span<const Tensor> operands, const Evaluator&) {
  const TensorType& from = instruction.operand(0).type();
  if (!from.is_quantized()) return {quantize(operands[0], instruction.type())};
  const auto rounding = rounding_of(instruction.parent().module());
  if (rounding) return {requantize(operands[0], from, instruction.type(), *rounding)};
  return {quantize(dequantize(operands[0], from), instruction.type())};
}

}  // namespace

extern const OpSemantics uniform_quantize_semantics{
    .infer = infer_uniform_quantize,
    .evaluate = evaluate_uniform_quantize,
    .format = AssemblyFormat{"$*", TypeForm::same},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x!quant.uniform<i8:f32, 0.5:3>>",
            .body =
                R"(%r = "stablehlo.uniform_quantize"(%a) : (tensor<4x$T>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true}};

}  // namespace systole::hlo::ops
