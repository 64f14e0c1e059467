// The floor of rows that read files: plain reads and a checksum.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "systole/io/local/local_file_system.h"
#include "systole/io/wire/crc32c.h"

namespace bench {

// Reads a file of this machine through `buffer` and returns its CRC-32C.
inline uint32_t plain_checksum(const std::string& path, std::span<char> buffer) {
  const auto file = systole::local_file_system().open(path);
  uint32_t crc = 0;
  for (uint64_t offset = 0;;) {
    const size_t got = file->read(offset, buffer.size(), buffer.data());
    if (got == 0) return crc;
    crc = systole::crc32c({buffer.data(), got}, crc);
    offset += got;
  }
}

}  // namespace bench
