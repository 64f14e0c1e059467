// Machine code on disk, so that a process need not make again what another one has made.
//
// The folder has a file `<key>.o` for each program, where the key names everything that the code
// depends on:
//   file   = magic digest code
//   magic  = "systole code 2\n"
//   digest = SHA-256 of the code, 32 bytes
//   code   = (length object)*, up to the end
//   length = of the object in bytes, 8 bytes, the lowest first
//   object = an object file of this machine
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole::cpu {

// Any number of processes may use one folder at once: entries appear complete or not at all, and
// whoever reads one that is removed keeps it. Nothing here fails for the caller: what goes wrong
// with the folder is a warning, and the code is made anew. Thread-safe.
class CodeCache {
 public:
  // When its entries take more than `max_bytes`, the oldest are removed. The folder is made at the
  // first store. `file_system` outlives the cache.
  CodeCache(FileSystem& file_system, std::string folder, int64_t max_bytes);

  // The object stored under the key. None when there is none, or one that is damaged.
  std::optional<std::string> find(const std::string& key);
  // Replaces what is there.
  void store(const std::string& key, std::string_view object);

  const std::string& folder() const { return folder_; }

 private:
  std::string path(const std::string& key) const;
  void remove_oldest();

  FileSystem& file_system_;
  std::string folder_;
  int64_t max_bytes_;
  std::mutex mutex_;  // one store at a time
};

// SHA-256 in hexadecimal digits.
std::string digest_of(std::string_view bytes);

}  // namespace systole::cpu
