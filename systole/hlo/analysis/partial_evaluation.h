// Evaluates cheap instructions at compile time with the reference evaluator. An invalid Tensor
// stands for an unknown value.
#pragma once

#include <span>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns the value of a constant, or of a splat of moderate size.
Tensor known_value(Value value);

// Returns the results for these operands. Returns nothing if they cannot be computed cheaply: an
// operand is unknown, the instruction is impure, captures values in a region, is large or slow, or
// fails.
std::vector<Tensor> evaluate_if_cheap(const Instruction& instruction,
                                      std::span<const Tensor> operands);

// Returns the results of a region or function for these arguments, each known or not. Captured
// values are known if they are constants. Costs one or two microseconds per instruction.
std::vector<Tensor> partially_evaluate(const Computation& computation,
                                       std::span<const Tensor> arguments);

}  // namespace systole::hlo
