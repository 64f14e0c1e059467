// Runs cheap instructions at compile time, by the reference evaluator. An invalid Tensor stands for
// "not known".
#pragma once

#include <span>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// The value of a constant, or of a splat of moderate size written out.
Tensor known_value(Value value);

// The values of the results for these operands. Empty when they are not to be had at compile time:
// an operand is not known, the instruction is not pure, uses values around it in a region, is large
// or slow for what it is, or fails.
std::vector<Tensor> evaluate_if_cheap(const Instruction& instruction,
                                      std::span<const Tensor> operands);

// The results of a region or function for these arguments, each known or not. Values around it
// count as far as they are constants. Costs a microsecond or two an instruction.
std::vector<Tensor> partially_evaluate(const Computation& computation,
                                       std::span<const Tensor> arguments);

}  // namespace systole::hlo
