// Archives: tar, also compressed with gzip, bzip2, xz or zstd, and zip. Read with libarchive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "systole/base/file_system.h"

namespace systole {

// Gives the files of an archive in the order in which they are stored; skips folders and links. Not
// thread-safe. Errors: those of the file; INVALID_ARGUMENT for a file that is no archive; DATA_LOSS
// for one that is truncated or damaged.
class ArchiveReader {
 public:
  // Detects the kind of archive by its contents. `file_system` is not used after the constructor.
  ArchiveReader(FileSystem& file_system, const std::string& path);
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // Goes to the next file. Returns false at the end.
  bool next();
  // The path of the current file in the archive. REQUIRES: next() returned true.
  const std::string& name() const;
  // Reads the current file, once. Errors: RESOURCE_EXHAUSTED if it has more than `max_bytes`.
  std::string read(uint64_t max_bytes = uint64_t{1} << 32U);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole
