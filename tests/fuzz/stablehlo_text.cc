// Text that is accepted must be a valid program. Printed in the pretty and in the generic form, it
// must parse to the same program.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace hlo = systole::hlo;

namespace {

// Returns nullptr if the text is refused.
std::unique_ptr<hlo::Module> parse_valid(std::string_view text) {
  try {
    auto module = hlo::parse(text);
    hlo::verify(*module);
    return module;
  } catch (const systole::Error&) {
    return nullptr;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = parse_valid({reinterpret_cast<const char*>(data), size});
  if (module == nullptr) return 0;
  for (const bool pretty : {false, true}) {
    const std::string text = hlo::print(*module, {.pretty = pretty});
    if (hlo::print(*hlo::parse(text), {.pretty = pretty}) != text) std::abort();
  }
  return 0;
}
