// Ops that refer to functions of their module: call, composite, custom_call.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// Returns the functions that the attributes name, with repetitions.
std::vector<std::string> callees(const Attrs& attrs);

// Returns all functions of the module in an order in which callees precede their callers, as far as
// there is one: recursive calls, which the verifier rejects, are ignored where they close a circle.
std::vector<Computation*> callees_first(const Module& module);
// Returns a function that calls itself, if only by way of others; nullptr if there is none. Callees
// that the module lacks are ignored.
const Computation* find_recursion(const Module& module);

// Returns `function` and all functions that it calls, if only by way of others.
std::unordered_set<const Computation*> reached_from(const Computation& function);

// Inference for ops that call a function. Checks the operands against the parameters of `callee`
// and returns its result types. If `callee` is not defined yet, returns the declared types; the
// verifier checks again. Errors: INVALID_ARGUMENT.
std::vector<TensorType> infer_call(const InferContext& context, const std::string& callee);
// Runs `callee`. Errors: NOT_FOUND if the module has no such function; those of the function.
std::vector<Tensor> evaluate_call(const Instruction& instruction, const std::string& callee,
                                  std::span<const Tensor> operands, const Evaluator& evaluator);

}  // namespace systole::hlo
