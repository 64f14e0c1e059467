// Tokens: values without data that order effects.
#pragma once

#include <vector>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

inline TensorType token_type() { return {DType::token, {}}; }

// The evaluator's value of every token; it has no bytes.
inline Tensor token_value() { return Tensor(token_type()); }

// Checks that operand `i` is a token. Errors: INVALID_ARGUMENT.
void check_token(const InferContext& context, int i);

// Checks that the last operand is a token and the others are tensors. Errors: INVALID_ARGUMENT.
void check_tensors_and_token(const InferContext& context);

// Returns the declared result types. The last must be a token, the others tensors. Errors:
// INVALID_ARGUMENT.
std::vector<TensorType> declared_and_token(const InferContext& context);

}  // namespace systole::hlo
