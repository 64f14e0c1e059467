// Opcodes and their traits, expanded from opcodes.def.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace systole::hlo {

// Trait flags: the columns of opcodes.def.
inline constexpr uint32_t kElementwise =
    1U << 0;  // result[i] depends only on operands[i] (scalar operands may be broadcast)
inline constexpr uint32_t kCommutative = 1U << 1;
inline constexpr uint32_t kAssociative =
    1U << 2;  // over the reals: floating point may regroup only in reductions
inline constexpr uint32_t kIdempotent = 1U << 3;      // f(f(x)) == f(x); two operands: f(x, x) == x
inline constexpr uint32_t kInvolution = 1U << 4;      // f(f(x)) == x
inline constexpr uint32_t kTranscendental = 1U << 5;  // costs about 20 simple operations an element
inline constexpr uint32_t kIndexed =
    1U << 6;  // result[i] is an operand's element at a function of i, or of i alone
inline constexpr uint32_t kBitcast = 1U << 7;  // the same bytes in row-major order
inline constexpr uint32_t kLeaf = 1U << 8;     // has no operand and no effect
inline constexpr uint32_t kInternal = 1U
                                      << 9;  // no StableHLO op: printed under the dialect `systole`
inline constexpr uint32_t kPinned = 1U << 10;      // never removed, merged, moved or folded
inline constexpr uint32_t kTerminator = 1U << 11;  // ends a computation
inline constexpr uint32_t kSideEffect = 1U << 12;  // kept though unused, in order
inline constexpr uint32_t kCapturing = 1U
                                       << 13;  // rewrites may make its regions use values around it
inline constexpr uint32_t kContextual =
    1U << 14;  // its value depends on who runs it, when or where: never folded

enum class Opcode : uint8_t {
#define OP(enumerator, name, min_operands, max_operands, regions, attrs, flags) enumerator,
#include "systole/hlo/ir/opcodes.def"
#undef OP
};

struct OpcodeTraits {
  std::string_view name;  // "dot_general"
  int min_operands;
  int max_operands;  // -1: any number
  int regions;       // -1: any number
  uint32_t flags;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

inline constexpr OpcodeTraits kOpcodeTraits[] = {
#define OP(enumerator, name, min_operands, max_operands, regions, attrs, flags) \
  {name, min_operands, max_operands, regions, flags},
#include "systole/hlo/ir/opcodes.def"
#undef OP
};

inline constexpr int kNumOpcodes = sizeof(kOpcodeTraits) / sizeof(kOpcodeTraits[0]);

constexpr const OpcodeTraits& traits(Opcode opcode) {
  return kOpcodeTraits[static_cast<size_t>(opcode)];
}
constexpr std::string_view to_string(Opcode opcode) { return traits(opcode).name; }

// Returns nullopt if no row has that name.
std::optional<Opcode> opcode_from_name(std::string_view name);

}  // namespace systole::hlo

// Accepts the format specification of a string.
template <>
struct fmt::formatter<systole::hlo::Opcode> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(systole::hlo::Opcode opcode,
                                       fmt::format_context& context) const;
};
