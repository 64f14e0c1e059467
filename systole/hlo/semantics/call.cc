#include "systole/hlo/semantics/call.h"

#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"

namespace systole::hlo {

std::vector<TensorType> infer_call(const InferContext& context, const std::string& callee) {
  const Computation* function =
      context.module == nullptr ? nullptr : context.module->find_function(callee);
  if (function == nullptr || !function->has_results()) {
    if (!context.declared.empty()) return {context.declared.begin(), context.declared.end()};
    throw invalid_argument("{}: callee, got '{}', expected a function of the module with results",
                           context.opcode, callee);
  }
  check_types(to_string(context.opcode), "operand types", types_of(context.operands),
              parameter_types(*function));
  return result_types(*function);
}

std::vector<Tensor> evaluate_call(const Instruction& instruction, const std::string& callee,
                                  std::span<const Tensor> operands, const Evaluator& evaluator) {
  const Computation* function = instruction.parent().module().find_function(callee);
  if (function == nullptr) {
    throw not_found("{}: callee, got '{}', expected a function of the module", instruction.opcode(),
                    callee);
  }
  return evaluator.run(*function, operands);
}

}  // namespace systole::hlo
