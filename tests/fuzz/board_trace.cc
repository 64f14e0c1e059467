// Timelines of profiles, as `systole board` reads them.
#include "apps/board/trace.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  const std::string text(fuzz::text_of(data, size));
  fuzz::may_refuse([&] { (void)board::trace_json(text); });
  MemoryFileSystem files({{"t.json.gz", text}});
  fuzz::may_refuse([&] { (void)board::trace_json_of_gzip(files, "t.json.gz", 1 << 20); });
  return 0;
}
