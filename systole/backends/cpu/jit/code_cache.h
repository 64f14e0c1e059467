// Machine code on disk, for the next process that compiles the same program.
//
// The folder holds one file for each program (io/file_systems/cache_folder.h), named after a key
// that covers everything the code depends on:
//   file   = magic digest code
//   magic  = "systole code 4\n"
//   digest = SHA-256 of the code, 32 bytes
//   code   = (length part)*, up to the end
//   length = of the part in bytes, 8 bytes, little-endian
//   part   = first what the program needs besides (codegen/program_record.h), then object files of
//            this machine
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"
#include "systole/base/mutex.h"

namespace systole::cpu {

// Any number of processes may use one folder at once: entries appear complete or not at all. Errors
// of the folder do not reach the caller: the first is logged as a warning and the code is compiled
// again. Thread-safe.
class CodeCache {
 public:
  // Evicts the least recently used entries when they take more than `max_bytes`, which may be
  // exceeded by a few percent. `folder` is private (make_private_folder()) or of a file system in
  // memory. `file_system` outlives the cache.
  CodeCache(FileSystem& file_system, std::string folder, int64_t max_bytes);

  // Returns the object stored under `key`, nullopt if there is none or it is damaged. Keys are
  // digest_of() something.
  std::optional<std::string> find(const std::string& key);
  // Replaces an existing entry.
  void store(const std::string& key, std::string_view object);

  const std::string& folder() const { return folder_; }

 private:
  std::string path(const std::string& key) const;
  void warn(const std::string& message);
  void touch(const std::string& key);
  void evict();

  FileSystem& file_system_;
  std::string folder_;
  int64_t max_bytes_;
  std::atomic<bool> warned_ = false;
  Mutex mutex_;  // one store at a time
  std::minstd_rand random_ SYSTOLE_GUARDED_BY(mutex_);
};

// Opens the cache in `folder` of the local file system, or in default_cache_folder() if `folder` is
// empty. Returns null if there is no such folder, or with a warning, once a process, if it is not
// private or cannot be made.
std::unique_ptr<CodeCache> open_code_cache(const std::string& folder);

// SHA-256 in hexadecimal digits.
std::string digest_of(std::string_view bytes);

}  // namespace systole::cpu
