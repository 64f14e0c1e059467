#include "systole/base/error.h"
#include "systole/hlo/semantics/quantized.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_uniform_dequantize(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  if (!operand.is_quantized()) {
    throw invalid_argument("uniform_dequantize: operand, got {}, expected a quantized type",
                           operand);
  }
  return {{operand.quantized->expressed, operand.shape}};  // C1, C2
}

std::vector<Tensor> evaluate_uniform_dequantize(const Instruction& instruction,
                                                std::span<const Tensor> operands,
                                                const Evaluator&) {
  return {dequantize(operands[0], instruction.operand(0).type())};
}

}  // namespace

extern const OpSemantics uniform_dequantize_semantics{
    .infer = infer_uniform_dequantize,
    .evaluate = evaluate_uniform_dequantize,
    .format = AssemblyFormat{"$*", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x!quant.uniform<$T:f32, 0.5:3>>",
            .results = "tensor<4xf32>",
            .body =
                R"(%r = "stablehlo.uniform_dequantize"(%a) : (tensor<4x!quant.uniform<$T:f32, 0.5:3>>) -> tensor<4xf32>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true}};

}  // namespace systole::hlo::ops
