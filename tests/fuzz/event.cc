// An event file: its events, up to the first that is damaged.
#include <cstddef>
#include <cstdint>
#include <string>

#include "systole/base/error.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/file_systems/memory_file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  systole::MemoryFileSystem files({{"e", std::string(reinterpret_cast<const char*>(data), size)}});
  try {
    systole::summarize_events(files, "e");
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): as it may
  }
  return 0;
}
