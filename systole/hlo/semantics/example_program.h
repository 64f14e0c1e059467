// The smallest program that uses an opcode; the tables of docs/stablehlo.md are made of these.
#pragma once

#include <string>

#include "systole/base/dtype.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::hlo {

// Returns the text of a program with one instruction of `opcode` on elements of `dtype`, from
// OpSemantics::example. Returns "" for opcodes that are not StableHLO ops (parameter, return,
// fusion). The program is invalid if the specification does not define the op on this type; parse()
// then throws INVALID_ARGUMENT.
std::string example_program(Opcode opcode, DType dtype);

}  // namespace systole::hlo
