// The smallest program of every opcode, for any element type: what the table of supported ops is
// made of.
#pragma once

#include <string>

#include "systole/base/dtype.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::app {

// The text of a program that is one instruction on elements of `dtype`; "" for opcodes that are no
// StableHLO ops of their own (parameter, return, fusion). It need not be valid: the specification
// says which types an op takes, and reading the text is how to find out.
std::string support_program(hlo::Opcode opcode, DType dtype);

}  // namespace systole::app
