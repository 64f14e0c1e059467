// Records that are read are written again as the same bytes; compressed files are read too.
#include "systole/io/records/tfrecord.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systole/base/error.h"
#include "systole/io/file_systems/memory_file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  systole::MemoryFileSystem fs({{"f", bytes}});
  auto file = fs.open("f");
  const systole::Compression compression = systole::sniff_record_compression(*file);
  systole::RecordReader reader(
      std::move(file),
      {.compression = compression, .buffer_bytes = 1000, .max_record_bytes = 1U << 20U});
  systole::RecordWriter writer(fs, "again");
  try {
    while (const auto record = reader.next()) writer.write(*record);
  } catch (const systole::Error&) {
    return 0;
  }
  writer.close();
  if (compression == systole::Compression::none && systole::read_file(fs, "again") != bytes) {
    std::abort();
  }
  return 0;
}
