// Division of integers as lowerings write it: checked, and with the roundings that HLO has not.
#pragma once

#include "systole/graph/core/op_def.h"

namespace systole {

// Fails the run with INVALID_ARGUMENT "<op>: Integer division by zero, <node>" when an element of
// `divisor` is 0. Adds nothing for floating operands and for constants without a 0.
void check_divisor(LowerContext& c, hlo::Value divisor);

// Fails the run with INVALID_ARGUMENT `<op>: <what>, <node>` when `x` <direction> 0 for an element
// of x. Adds nothing when x is a constant of which that is not so.
void check_no_element(LowerContext& c, hlo::Value x, hlo::ComparisonDirection direction,
                      std::string_view what);

// Where the truncated quotient of x and y is one more than the quotient rounded down, given the
// remainder with x's sign: where that is not 0 and its sign is not y's.
hlo::Value rounds_up(hlo::Builder& b, hlo::Value remainder, hlo::Value y);

}  // namespace systole
