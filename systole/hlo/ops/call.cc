#include "systole/hlo/ir/callees.h"

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

extern const OpSemantics call_semantics;
const OpSemantics call_semantics{.infer = infer_call, .evaluate = evaluate_call};

}  // namespace systole::hlo::ops
