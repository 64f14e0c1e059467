// Whether two instructions compute the same value, by their structure.
#pragma once

#include <cstddef>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Same opcode, attributes, result types, operands (in either order for commutative opcodes) and
// equal regions. Regions are equal when the same instructions stand in the same order, inner values
// correspond, and outer values are the same. Metadata does not count.
bool structurally_equal(const Instruction& a, const Instruction& b);

// Equal instructions have equal hashes.
size_t structural_hash(const Instruction& instruction);

// The same but for their operands, which have to be as many and of the same types: both compute the
// same function.
bool same_function(const Instruction& a, const Instruction& b);
// Instructions of the same function have equal hashes.
size_t function_hash(const Instruction& instruction);

}  // namespace systole::hlo
