// An array that is read is written again and reads as itself.
#include "systole/io/tables/idx.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systole/base/error.h"
#include "systole/io/file_systems/memory_file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  systole::MemoryFileSystem fs({{"f", std::string(reinterpret_cast<const char*>(data), size)}});
  systole::Tensor array;
  try {
    array = systole::read_idx(fs, "f");
  } catch (const systole::Error&) {
    return 0;
  }
  systole::write_idx(fs, "again", array);
  if (!systole::read_idx(fs, "again").identical(array)) std::abort();
  return 0;
}
