// Writes zip archives. Made with libarchive.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace systole {

// A zip archive under construction in memory. Files are stored as they are, without compression,
// and have the date 1980-01-01, so that equal files give equal bytes. Not thread-safe. Errors:
// INTERNAL, which names the archive and the file; RESOURCE_EXHAUSTED without memory.
class ZipWriter {
 public:
  // `name` stands for the archive in errors.
  explicit ZipWriter(std::string name);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  void add(const std::string& path, std::string_view bytes);
  // Ends the archive and returns its bytes. No other call may follow.
  std::string finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether these are the first bytes of a zip archive.
bool looks_like_zip(std::string_view bytes);

}  // namespace systole
