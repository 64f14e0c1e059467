#include "systole/hlo/ir/opcode.h"

#include <fmt/format.h>

namespace systole::hlo {

std::optional<Opcode> opcode_from_name(std::string_view name) {
  for (int i = 0; i < kNumOpcodes; ++i) {
    if (kOpcodeTraits[i].name == name) return static_cast<Opcode>(i);
  }
  return std::nullopt;
}

}  // namespace systole::hlo

// Defined here because fmt/core.h, the only header that opcode.h includes, just declares the base's
// format().
fmt::format_context::iterator fmt::formatter<systole::hlo::Opcode>::format(
    systole::hlo::Opcode opcode, fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format(systole::hlo::to_string(opcode), context);
}
