// Zip archives, .npy files in them, and pickles in these.
#include "systole/io/tables/npz.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "systole/base/error.h"
#include "systole/io/file_systems/memory_file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  systole::MemoryFileSystem fs({{"f", std::string(reinterpret_cast<const char*>(data), size)}});
  try {
    const systole::NpzFile file(fs, "f");
    for (const std::string& name : file.names()) {
      try {
        (void)file.array(name);
      } catch (const systole::Error&) {
        (void)file.int_lists(name);
      }
    }
  } catch (const systole::Error&) {
  }
  return 0;
}
