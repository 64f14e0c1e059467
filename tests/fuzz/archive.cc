// Tar and zip archives, compressed or not.
#include "systole/io/archives/archive_reader.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  MemoryFileSystem files({{"f", std::string(fuzz::text_of(data, size))}});
  fuzz::may_refuse([&] {
    ArchiveReader reader(files, "f");
    constexpr int kMaxFiles = 100;
    constexpr uint64_t kMaxBytes = 1 << 20;
    for (int i = 0; i < kMaxFiles && reader.next(); ++i) {
      fuzz::may_refuse([&] {
        if (reader.read(kMaxBytes).size() > kMaxBytes) __builtin_trap();
      });
    }
  });
  return 0;
}
