#include "systole/backends/cpu/jit/code_cache.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <array>
#include <vector>

#include "systole/base/log.h"

namespace systole::cpu {
namespace {

constexpr std::string_view kMagic = "systole code 2\n";
constexpr std::string_view kSuffix = ".o";
constexpr size_t kDigestBytes = 32;

std::string raw_digest(std::string_view bytes) {
  const auto digest =
      llvm::SHA256::hash({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Empty when the file is not whole.
std::string_view object_in(std::string_view file) {
  if (!file.starts_with(kMagic) || file.size() < kMagic.size() + kDigestBytes) return {};
  const std::string_view digest = file.substr(kMagic.size(), kDigestBytes);
  const std::string_view object = file.substr(kMagic.size() + kDigestBytes);
  return raw_digest(object) == digest ? object : std::string_view();
}

}  // namespace

std::string digest_of(std::string_view bytes) { return llvm::toHex(raw_digest(bytes), true); }

CodeCache::CodeCache(FileSystem& file_system, std::string folder, int64_t max_bytes)
    : file_system_(file_system), folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::string CodeCache::path(const std::string& key) const {
  return join_path(folder_, key + std::string(kSuffix));
}

std::optional<std::string> CodeCache::find(const std::string& key) {
  try {
    const std::string file = read_file(file_system_, path(key));
    const std::string_view object = object_in(file);
    if (!object.empty()) return std::string(object);
    log_warning("{}: compiled code, got {} damaged bytes; it is made anew", path(key), file.size());
  } catch (const Error& error) {
    if (error.code() != Code::not_found) log_warning("{}; the code is made anew", error.message());
  }
  return std::nullopt;
}

void CodeCache::store(const std::string& key, std::string_view object) {
  const std::lock_guard lock(mutex_);
  try {
    file_system_.make_directories(folder_);
    write_file_atomically(file_system_, path(key), [&](WritableFile& file) {
      file.append(kMagic);
      file.append(raw_digest(object));
      file.append(object);
    });
    remove_oldest();
  } catch (const Error& error) {
    log_warning("{}; compiled code is not kept", error.message());
  }
}

// Temporary files count, too: a process that was killed leaves some.
void CodeCache::remove_oldest() {
  struct Entry {
    int64_t modified_ns;
    int64_t bytes;
    std::string path;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  for (const std::string& name : file_system_.list(folder_)) {
    if (name.find(kSuffix) == std::string::npos) continue;
    const std::string path = join_path(folder_, name);
    try {
      const FileStat stat = file_system_.stat(path);
      if (stat.is_directory) continue;
      entries.push_back({stat.modified_ns, static_cast<int64_t>(stat.size), path});
      total += entries.back().bytes;
    } catch (const Error& error) {
      // Another process has removed it.
      if (error.code() != Code::not_found) throw;
    }
  }
  std::ranges::sort(entries, {}, &Entry::modified_ns);
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) return;
    try {
      file_system_.remove(entry.path);
    } catch (const Error& error) {
      if (error.code() != Code::not_found) throw;
    }
    total -= entry.bytes;
  }
}

}  // namespace systole::cpu
