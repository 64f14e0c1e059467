#include "apps/systole/data/record_scan.h"

#include <algorithm>
#include <memory>

#include "systole/io/crc32c.h"
#include "systole/io/tfrecord.h"

namespace systole::app {
namespace {

constexpr uint64_t kPlainBufferBytes = 256U << 10U;

// The first `size` bytes of a file and their checksum.
void read_plainly(const RandomAccessFile& file, uint64_t size) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPlainBufferBytes);
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < size;) {
    const size_t got = file.read(offset, std::min(kPlainBufferBytes, size - offset), buffer.get());
    if (got == 0) return;
    crc = crc32c({buffer.get(), got}, crc);
    offset += got;
  }
}

}  // namespace

RecordScan scan_records(FileSystem& file_system, std::span<const std::string> files,
                        Compression compression, uint64_t most_bytes, Clock& clock) {
  RecordScan scan;
  for (const std::string& path : files) {
    auto start = clock.steady_now();
    const auto add_time = [&] {
      scan.seconds += std::chrono::duration<double>(clock.steady_now() - start).count();
    };
    RecordReader reader(file_system, path, {.compression = compression});
    const uint64_t before = scan.bytes;
    while (scan.bytes < most_bytes && reader.next()) {
      ++scan.records;
      scan.bytes = before + reader.offset();
    }
    if (compression == Compression::none) {
      const auto file = file_system.open(path);
      start = clock.steady_now();
      read_plainly(*file, reader.offset());
    }
    add_time();
    if (scan.bytes >= most_bytes) break;
  }
  return scan;
}

}  // namespace systole::app
