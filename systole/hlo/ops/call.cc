#include "systole/hlo/semantics/call.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_call(const InferContext& context) {
  return infer_call(context, context.get<CallAttrs>().callee);
}

std::vector<Tensor> evaluate_call(const Instruction& instruction, std::span<const Tensor> operands,
                                  const Evaluator& evaluator) {
  return evaluate_call(instruction, instruction.attrs<CallAttrs>().callee, operands, evaluator);
}

}  // namespace

extern const OpSemantics call_semantics{
    .infer = infer_call,
    .evaluate = evaluate_call,
    .format = AssemblyFormat{"<@callee>($*)", TypeForm::functional},
    .example =
        OpExample{.parameters = "%a: tensor<4x$T>",
                  .results = "tensor<4x$T>",
                  .body = R"(%r = "func.call"(%a) {callee = @f} : (tensor<4x$T>) -> tensor<4x$T>)",
                  .functions = R"(func.func private @f(%x: tensor<4x$T>) -> tensor<4x$T> {
  "func.return"(%x) : (tensor<4x$T>) -> ()
})"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true}};

}  // namespace systole::hlo::ops
