// A program file that is read must be equal after it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systole/base/error.h"
#include "systole/tpu_v1/isa/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const systole::tpu_v1::Program program = systole::tpu_v1::read_program(bytes, "p");
    if (systole::tpu_v1::read_program(systole::tpu_v1::write_program(program), "p") != program)
      std::abort();
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
  return 0;
}
