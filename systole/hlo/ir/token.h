// Tokens: values without data that order effects.
#pragma once

#include <vector>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

inline TensorType token_type() { return {DType::token, {}}; }

// The evaluator's value of every token: no bytes.
inline Tensor token_value() { return Tensor(token_type()); }

// Operand `i` is a token. Errors: INVALID_ARGUMENT.
void check_token(const InferContext& context, int i);

// What comes from outside: the declared types, the last of which must be a token.
std::vector<TensorType> declared_and_token(const InferContext& context);

}  // namespace systole::hlo
