#include "systole/base/error.h"
#include "systole/hlo/evaluator.h"
#include "systole/hlo/op_semantics.h"
#include "systole/hlo/signature.h"

namespace systole::hlo::ops {
namespace {

const Computation* find_callee(const Module* module, const Attrs& attrs) {
  const std::string& name = std::get<CallAttrs>(attrs).callee;
  return module == nullptr ? nullptr : module->find_function(name);
}

// A program text may call what it defines later: until then the declared types hold. The verifier
// looks again.
std::vector<TensorType> infer(const InferContext& context) {
  const Computation* callee = find_callee(context.module, context.attrs);
  if (callee == nullptr || !callee->has_results()) {
    if (!context.declared.empty()) return {context.declared.begin(), context.declared.end()};
    throw invalid_argument("call: callee, got '{}', expected a function of the module with results",
                           context.get<CallAttrs>().callee);
  }
  check_types("call", "operand types", types_of(context.operands), parameter_types(*callee));
  return result_types(*callee);
}

std::vector<Tensor> evaluate(const Instruction& instruction, std::span<const Tensor> operands,
                             const Evaluator& evaluator) {
  const Computation* callee = find_callee(&instruction.parent().module(), instruction.attrs());
  if (callee == nullptr) {
    throw not_found("call: callee, got '{}', expected a function of the module",
                    instruction.attrs<CallAttrs>().callee);
  }
  return evaluator.run(*callee, operands);
}

}  // namespace

extern const OpSemantics call_semantics;
const OpSemantics call_semantics{.infer = infer, .evaluate = evaluate};

}  // namespace systole::hlo::ops
