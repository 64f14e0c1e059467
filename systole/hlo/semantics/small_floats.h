// Ops on floats below 16 bits, and products of two element types.
//
// Ops that move elements move codes. All others run on f32 and round each result once; so do
// reductions, sorts and the other ops with regions on scalars, whose regions compute in f32, too:
// sums of a few mantissa bits would soon stop growing. Products of operands of two types are those
// of a common type.
#pragma once

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether an operand, a result or a value inside of a region has a floating-point type of
// fewer than 16 bits.
bool has_small_floats(const Instruction& instruction);

// Returns whether the instruction takes or gives small floats, or operands of two types, which
// `insert_widened` takes away. False for ops that move elements, for `convert`, and for ops that
// run computations.
bool needs_widening(const Instruction& instruction);

// Appends the instruction to b's computation, with f32 for small floats and one type for the
// operands of a product, with `convert` around it. `operands` stand for its own and have their
// types; values that its regions use from outside are looked up in `outer`, or used as they are.
// Returns its results. REQUIRES: needs_widening(instruction).
std::vector<Value> insert_widened(const Instruction& instruction, std::vector<Value> operands,
                                  Builder& b, const ValueMap& outer = {});

}  // namespace systole::hlo
