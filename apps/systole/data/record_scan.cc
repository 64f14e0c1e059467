#include "apps/systole/data/record_scan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "systole/io/records/tfrecord.h"
#include "systole/io/wire/crc32c.h"

namespace systole::app {
namespace {

constexpr uint64_t kPlainBufferBytes = 256U << 10U;
constexpr double kLongEnough = 0.1;  // seconds of all rounds
constexpr int kMaxRounds = 10'000;

// The part of a file to read.
struct Part {
  std::string path;
  uint64_t bytes = 0;
};

// Counts the records of a file, up to `most_bytes` or the first damage.
Part count_records(FileSystem& file_system, const std::string& path, Compression compression,
                   uint64_t most_bytes, RecordScan& scan) {
  Part part = {.path = path};
  try {
    RecordReader reader(file_system, path, {.compression = compression});
    while (reader.offset() < most_bytes && reader.next()) {
      ++scan.records;
      part.bytes = reader.offset();
    }
  } catch (const Error& error) {
    if (scan.damage.empty()) scan.damage = error.message();
  }
  scan.bytes += part.bytes;
  return part;
}

// Reads the first `bytes` and computes their checksum.
void read_plainly(ByteSource& source, uint64_t bytes, char* buffer) {
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < bytes;) {
    const size_t got = source.read(std::min(kPlainBufferBytes, bytes - offset), buffer);
    if (got == 0) return;
    crc = crc32c({buffer, got}, crc);
    offset += got;
  }
}

double seconds_of_round(FileSystem& file_system, const std::vector<Part>& parts,
                        Compression compression, Clock& clock, char* buffer) {
  double seconds = 0;
  for (const Part& part : parts) {
    const auto source = open_source(file_system.open(part.path), compression);
    const auto start = clock.steady_now();
    read_plainly(*source, part.bytes, buffer);
    seconds += std::chrono::duration<double>(clock.steady_now() - start).count();
  }
  return seconds;
}

double seconds_of_best_round(FileSystem& file_system, const std::vector<Part>& parts,
                             Compression compression, Clock& clock) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPlainBufferBytes);
  double best = std::numeric_limits<double>::infinity();
  double all = 0;
  // The first round only loads the files into memory.
  for (int round = 0; round < kMaxRounds && (round < 2 || all < kLongEnough); ++round) {
    const double seconds = seconds_of_round(file_system, parts, compression, clock, buffer.get());
    all += seconds;
    if (round > 0) best = std::min(best, seconds);
  }
  return best;
}

}  // namespace

RecordScan scan_records(FileSystem& file_system, std::span<const std::string> files,
                        Compression compression, uint64_t most_bytes, Clock& clock) {
  RecordScan scan;
  std::vector<Part> parts;
  for (const std::string& path : files) {
    if (scan.bytes >= most_bytes) break;
    Part part = count_records(file_system, path, compression, most_bytes - scan.bytes, scan);
    if (part.bytes > 0) parts.push_back(std::move(part));
  }
  if (!parts.empty()) scan.seconds = seconds_of_best_round(file_system, parts, compression, clock);
  return scan;
}

}  // namespace systole::app
