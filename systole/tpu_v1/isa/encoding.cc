#include "systole/tpu_v1/isa/encoding.h"

#include <bit>

#include "systole/base/error.h"

namespace systole::tpu_v1 {
namespace {

uint64_t known_flags(Opcode opcode) {
  uint64_t all = 0;
  for (const FlagName& flag : flags_of(opcode)) all |= flag.bit;
  return all;
}

void check_flags(const Instruction& instruction, int64_t index) {
  const auto flags = static_cast<uint64_t>(instruction.flags);
  const std::string_view name = name_of(instruction.opcode);
  if ((flags & ~known_flags(instruction.opcode)) != 0) {
    throw invalid_argument("instruction {} ({}): flags, got {:#x}, expected bits of {:#x}", index,
                           name, flags, known_flags(instruction.opcode));
  }
  if (unit_of(instruction.opcode) != static_cast<int>(Unit::activation)) return;
  for (const uint64_t exclusive :
       {uint64_t{kRelu | kSigmoid | kTanh}, uint64_t{kMaxPool | kAveragePool},
        uint64_t{kAdd | kMultiply}, uint64_t{kOutput16 | kUnsignedOutput}}) {
    if (std::popcount(flags & exclusive) > 1) {
      throw invalid_argument(
          "instruction {} ({}): flags, got {:#x}, expected at most one of the bits {:#x}", index,
          name, flags, exclusive);
    }
  }
}

void check_field(const Instruction& instruction, const FieldLayout& field, int64_t index) {
  const int64_t value = instruction.*field.member;
  const auto fail = [&](int64_t most) {
    return invalid_argument("instruction {} ({}): {}, got {}, expected 0 to {}", index,
                            name_of(instruction.opcode), field.name, value, most);
  };
  if (field.kind == FieldKind::unit && (value < 0 || value >= kUnits)) throw fail(kUnits - 1);
  if (field.kind == FieldKind::reg && (value < 0 || value >= kRegisters))
    throw fail(kRegisters - 1);
  const int bits = 8 * field.bytes;
  if (bits < 64 && (value < 0 || value >> bits != 0)) throw fail((int64_t{1} << bits) - 1);
}

}  // namespace

void check_instruction(const Instruction& instruction, int64_t index) {
  Instruction used{.opcode = instruction.opcode};
  for (const FieldLayout& field : fields_of(instruction.opcode)) {
    check_field(instruction, field, index);
    used.*field.member = instruction.*field.member;
  }
  check_flags(instruction, index);
  if (used != instruction) {
    throw invalid_argument(
        "instruction {} ({}): a field that it does not have, got a value, expected 0", index,
        name_of(instruction.opcode));
  }
}

InstructionBytes encode(const Instruction& instruction, int64_t index) {
  check_instruction(instruction, index);
  InstructionBytes bytes{};
  bytes[0] = static_cast<uint8_t>(instruction.opcode);
  size_t next = 1;
  for (const FieldLayout& field : fields_of(instruction.opcode)) {
    const auto value = static_cast<uint64_t>(instruction.*field.member);
    for (int i = 0; i < field.bytes; ++i) bytes[next++] = static_cast<uint8_t>(value >> (8 * i));
  }
  return bytes;
}

Instruction decode(std::span<const uint8_t, kInstructionBytes> bytes, int64_t index) {
  if (bytes[0] >= kOpcodes) {
    throw invalid_argument("instruction {}: opcode, got {}, expected 0 to {}", index, bytes[0],
                           kOpcodes - 1);
  }
  Instruction instruction{.opcode = static_cast<Opcode>(bytes[0])};
  size_t next = 1;
  for (const FieldLayout& field : fields_of(instruction.opcode)) {
    uint64_t value = 0;
    for (int i = 0; i < field.bytes; ++i) value |= uint64_t{bytes[next++]} << (8 * i);
    instruction.*field.member = static_cast<int64_t>(value);
  }
  for (; next < bytes.size(); ++next) {
    if (bytes[next] != 0) {
      throw invalid_argument("instruction {} ({}): byte {}, got {}, expected 0", index,
                             name_of(instruction.opcode), next, bytes[next]);
    }
  }
  check_instruction(instruction, index);
  return instruction;
}

}  // namespace systole::tpu_v1
