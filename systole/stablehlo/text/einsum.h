// einsum on one and two operands, which dot_general replaced.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"

namespace systole::hlo::text {

// Builds a dot_general, and a transpose if the result's axes are in another order. `config` has one
// letter per axis, such as "ab,bc->ac". `declared` is the result's type, or empty. Errors:
// INVALID_ARGUMENT; UNIMPLEMENTED for ellipses, letters that an operand repeats, and letters of one
// operand that the result does not have.
Value build_einsum(Builder& builder, std::string_view config, Value lhs, Value rhs,
                   std::span<const TensorType> declared,
                   const std::vector<Precision>& precision_config);

// Sums over the letters that the result does not have, and transposes if needed. `config` is such
// as "abc->ca". Errors: INVALID_ARGUMENT, also for a letter of the result only; UNIMPLEMENTED for
// ellipses and repeated letters.
Value build_unary_einsum(Builder& builder, std::string_view config, Value operand);

}  // namespace systole::hlo::text
