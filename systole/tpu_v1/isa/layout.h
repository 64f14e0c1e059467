// The layout of every instruction: one table for the encoder, the decoder, the assembler and the
// disassembler.
#pragma once

#include <span>
#include <string_view>

#include "systole/tpu_v1/isa/instruction.h"

namespace systole::tpu_v1 {

inline constexpr int kInstructionBytes = 12;

// How a field is written in assembler text.
enum class FieldKind : uint8_t { number, flags, unit, reg };

// A little-endian field of an instruction. Fields follow the opcode byte without gaps; bytes after
// the last are 0.
struct FieldLayout {
  std::string_view name;
  int64_t Instruction::*member;
  int bytes;
  FieldKind kind = FieldKind::number;
  bool is_signed = false;
};

// A flag and its name in assembler text.
struct FlagName {
  std::string_view name;
  uint16_t bit;
};

// Returns the fields of an opcode in the order of their bytes.
std::span<const FieldLayout> fields_of(Opcode opcode);
// Returns the flags of an opcode.
std::span<const FlagName> flags_of(Opcode opcode);

}  // namespace systole::tpu_v1
