// Structural equality of instructions.
#pragma once

#include <cstddef>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether opcode, attributes, result types, operands (in either order if commutative) and
// regions are equal. Regions are equal if they have the same instructions in the same order on
// corresponding inner and identical outer values. Ignores metadata.
bool structurally_equal(const Instruction& a, const Instruction& b);

// Equal instructions have equal hashes.
size_t structural_hash(const Instruction& instruction);

// Returns whether both compute the same function: the same except for the operands, of which number
// and types must agree.
bool same_function(const Instruction& a, const Instruction& b);
// Instructions of the same function have equal hashes.
size_t function_hash(const Instruction& instruction);

}  // namespace systole::hlo
