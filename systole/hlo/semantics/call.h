// Code shared by call, composite and custom_call: the functions that they name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// Inference for ops that call a function. Checks the operands against the parameters of `callee`
// and returns its result types. If `callee` is not defined yet, returns the declared types; the
// verifier checks again. Errors: INVALID_ARGUMENT.
std::vector<TensorType> infer_call(const InferContext& context, const std::string& callee);
// Runs `callee`. Errors: NOT_FOUND if the module has no such function; those of the function.
std::vector<Tensor> evaluate_call(const Instruction& instruction, const std::string& callee,
                                  std::span<const Tensor> operands, const Evaluator& evaluator);

}  // namespace systole::hlo
