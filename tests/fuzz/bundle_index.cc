// The index of a checkpoint, with a data file that fits nothing in particular: what reads without
// an error was right by its checksum.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/error.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/memory_file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string index(reinterpret_cast<const char*>(data), size);
  systole::MemoryFileSystem files(
      {{"m.index", index}, {"m.data-00000-of-00001", std::string(64, '\1')}});
  try {
    const systole::BundleReader reader(files, "m");
    for (const std::string& key : reader.keys()) {
      try {
        reader.read(key);
      } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): as it may
      }
    }
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): as it may
  }
  return 0;
}
