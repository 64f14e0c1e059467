// How fast records can be read at all.
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
  // What ended the reading of a file, of the first such file; empty when all could be read. Records
  // before that count.
  std::string damage;
};

// Takes the time of a loop on one thread that reads the files, uncompresses them and takes the
// checksum of all their bytes, and nothing else: of opened files, the best of several rounds, as
// many as last long enough to be timed. It ends with the record that reaches `most_bytes`.
RecordScan scan_records(FileSystem& file_system, std::span<const std::string> files,
                        Compression compression, uint64_t most_bytes, Clock& clock);

}  // namespace systole::app
