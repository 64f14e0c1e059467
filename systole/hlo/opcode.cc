#include "systole/hlo/opcode.h"

namespace systole::hlo {

std::optional<Opcode> opcode_from_name(std::string_view name) {
  for (int i = 0; i < kNumOpcodes; ++i) {
    if (kOpcodeTraits[i].name == name) return static_cast<Opcode>(i);
  }
  return std::nullopt;
}

}  // namespace systole::hlo
