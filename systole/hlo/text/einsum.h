// einsum of two operands and of one, as StableHLO had it before dot_general.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"

namespace systole::hlo::text {

// `config` such as "ab,bc->ac": a letter an axis. Builds a dot_general, and a transpose where the
// result's axes are in another order. `declared` is the result's type, or empty.
// Errors: INVALID_ARGUMENT; UNIMPLEMENTED for ellipses, letters twice in one operand, and letters
// of one operand alone that the result has not.
Value build_einsum(Builder& builder, std::string_view config, Value lhs, Value rhs,
                   std::span<const TensorType> declared,
                   const std::vector<Precision>& precision_config);

// `config` such as "abc->ca": sums over the letters that the result has not, and a transpose where
// its axes are in another order. Errors: INVALID_ARGUMENT, also for a letter of the result alone;
// UNIMPLEMENTED for ellipses and letters twice in the operand or in the result.
Value build_unary_einsum(Builder& builder, std::string_view config, Value operand);

}  // namespace systole::hlo::text
