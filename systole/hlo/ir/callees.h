// Ops that name functions of their module: call, composite, custom_call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// The functions that an instruction with these attributes names, each as often as it does.
std::vector<std::string> callees(const Attrs& attrs);

// What `call` does to a function, for any op that stands for one. The result types of `callee`,
// whose parameters the operands must fit. A program text may call what it defines later: until then
// the declared types hold, and the verifier looks again. Errors: INVALID_ARGUMENT.
std::vector<TensorType> infer_call(const InferContext& context, const std::string& callee);
// Errors: NOT_FOUND when the instruction's module has no such function; what it throws.
std::vector<Tensor> evaluate_call(const Instruction& instruction, const std::string& callee,
                                  std::span<const Tensor> operands, const Evaluator& evaluator);

}  // namespace systole::hlo
