// Queries on instructions, and an edit, that many passes share.
#pragma once

#include <span>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether the instruction may be removed if unused, merged with an equal one, and moved.
// False if it, or an instruction in its regions or its callee, is pinned, has a side effect, ends a
// computation (parameters and returns of regions excepted) or is a loop that may be endless: one
// that does not count up or down to a bound.
bool is_pure(const Instruction& instruction);

// Returns whether its value, or that of an instruction in its regions, depends on more than
// operands, so that it cannot be computed at compile time.
bool is_contextual(const Instruction& instruction);

// Unused and pure.
bool is_dead(const Instruction& instruction);

// Returns the values that the instruction's regions use and that are defined outside of it, without
// repetitions, in order of use.
std::vector<Value> captures(const Instruction& instruction);

// Inserts a copy, with regions, before `before`, an instruction of `into`; at the end if null.
// Operands and captured values are looked up in `map`, which receives the results.
Instruction* copy_instruction(const Instruction& source, ValueMap& map, Computation& into,
                              Instruction* before);

// Replaces the instruction's results by `values` in all users, and erases it.
void replace_and_erase(Instruction& instruction, std::span<const Value> values);

}  // namespace systole::hlo
