// Bytecode that is accepted must be a program that can be written and read back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace hlo = systole::hlo;

namespace {

// Returns nullptr if the bytes are refused.
std::unique_ptr<hlo::Module> read_valid(std::string_view bytes) {
  try {
    auto module = hlo::read_bytecode(bytes);
    hlo::verify(*module);
    return module;
  } catch (const systole::Error&) {
    return nullptr;
  }
}

// Returns "" if the program cannot be written: attributes of other dialects may be any text.
std::string written(const hlo::Module& module) {
  try {
    return hlo::write_bytecode(module);
  } catch (const systole::Error&) {
    return "";
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = read_valid({reinterpret_cast<const char*>(data), size});
  if (module == nullptr) return 0;
  const std::string bytes = written(*module);
  if (bytes.empty()) return 0;
  const auto again = hlo::read_bytecode(bytes);
  if (hlo::write_bytecode(*again) != bytes) std::abort();
  return 0;
}
