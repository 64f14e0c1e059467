// Program text that assembles must be equal after it is disassembled and assembled again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systole/base/error.h"
#include "systole/tpu_v1/assembler/assembler.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const systole::tpu_v1::Program program = systole::tpu_v1::assemble(text, "p");
    // Much data takes long with the sanitizers.
    constexpr size_t kMaxBytes = 4 << 20;
    size_t bytes = 0;
    for (const auto& constant : program.constants) bytes += constant.bytes.size();
    for (const auto& [tile, weights] : program.tiles) bytes += weights.size();
    if (bytes > kMaxBytes) return 0;
    if (systole::tpu_v1::assemble(systole::tpu_v1::disassemble(program), "p") != program)
      std::abort();
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
  return 0;
}
