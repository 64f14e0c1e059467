// Instructions as bytes.
//   instruction := opcode:u8 field* 0*         12 bytes; fields (layout.h) are little-endian
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "systole/tpu_v1/isa/instruction.h"
#include "systole/tpu_v1/isa/layout.h"

namespace systole::tpu_v1 {

using InstructionBytes = std::array<uint8_t, kInstructionBytes>;

// Errors: INVALID_ARGUMENT for a field that does not fit its bytes, unknown flags or units, two
// functions. `index` is the number of the instruction in its program, for messages.
InstructionBytes encode(const Instruction& instruction, int64_t index = 0);

// Errors: INVALID_ARGUMENT for an unknown opcode, unknown flags, units or registers, and bytes that
// must be 0.
Instruction decode(std::span<const uint8_t, kInstructionBytes> bytes, int64_t index = 0);

// Checks what both check. Errors: INVALID_ARGUMENT.
void check_instruction(const Instruction& instruction, int64_t index);

}  // namespace systole::tpu_v1
