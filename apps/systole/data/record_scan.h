// Measures the highest possible speed of reading records.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/io/wire/compression.h"

namespace systole::app {

struct RecordScan {
  int64_t records = 0;
  uint64_t bytes = 0;  // of them, uncompressed, as they are framed
  double seconds = 0;
  // The error that ended the reading of the first damaged file; empty if all files are intact.
  // Records before it count.
  std::string damage;
};

// Times a loop on one thread that reads the files, decompresses them and computes the checksum of
// all bytes. Returns the best of several rounds on open files. Ends with the record that reaches
// `most_bytes`.
RecordScan scan_records(FileSystem& file_system, std::span<const std::string> files,
                        Compression compression, uint64_t most_bytes, Clock& clock);

}  // namespace systole::app
