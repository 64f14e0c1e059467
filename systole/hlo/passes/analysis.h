// Questions about instructions that many passes ask, and the edit that many passes make.
#pragma once

#include <span>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// True when the instruction is nothing but its value: it may be removed when unused, merged with an
// equal one, and computed at another place. False when it, or an instruction in its regions or its
// callee, is pinned, has a side effect or ends a computation. (The parameters and returns of
// regions do not count.)
bool is_pure(const Instruction& instruction);

// True when its value, or that of an instruction in its regions, is no function of operands alone:
// it cannot be computed beforehand.
bool is_contextual(const Instruction& instruction);

// Unused and pure.
bool is_dead(const Instruction& instruction);

// The values that the instruction's regions use and that are defined outside of it, each once, in
// order of use.
std::vector<Value> captures(const Instruction& instruction);

// Inserts a copy, regions included, before `before` (an instruction of `into`; at its end when
// null). Operands and captured values go through `map`, which receives the results.
Instruction* copy_instruction(const Instruction& source, ValueMap& map, Computation& into,
                              Instruction* before);

// Makes every use of the instruction's results use `values`, and erases it.
void replace_and_erase(Instruction& instruction, std::span<const Value> values);

}  // namespace systole::hlo
