// Programs as text.
//   program     := line*                               ';' begins a comment
//   line        := [directive | instruction]
//   instruction := opcode ('.' flag)* (field '=' value)*
//                | 'set' register '=' number
//   value       := number | unit
//   directive   := '.array' number | '.rounding' ('tflite' | 'single')
//                | '.tile' number bytes* | '.constant' number bytes*
//                | '+' bytes*                          continues the line above
//                | ('.input' | '.output') name (key '=' value)*
//   key         := 'element' | 'offset' | 'rows' | 'bytes' | 'stride'
//   bytes       := (hex hex)+ ['*' number]             00*240 is 240 zero bytes
// Examples: `matmul.next.overwrite ub=0 acc=0 rows=200`, `sync waiter=matrix on=activation
// behind=1`. A field that is left out is 0. Numbers are decimal or 0x hexadecimal.
// docs/tpu_v1_assembly.md describes each opcode, field, flag and register.
#pragma once

#include <string>
#include <string_view>

#include "systole/tpu_v1/isa/program.h"

namespace systole::tpu_v1 {

// `path` is for messages. Errors: INVALID_ARGUMENT that read `<path>:<line>: <what>, got <value>,
// expected <value>`.
Program assemble(std::string_view text, const std::string& path);

// Returns text that assemble() turns into an equal program. Without `data` it counts the bytes of
// tiles and constants in a comment instead of listing them.
std::string disassemble(const Program& program, bool data = true);
// Returns one instruction as text.
std::string to_text(const Instruction& instruction);

}  // namespace systole::tpu_v1
