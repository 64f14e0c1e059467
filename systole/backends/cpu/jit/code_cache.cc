#include "systole/backends/cpu/jit/code_cache.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/io/file_systems/cache_folder.h"
#include "systole/io/local/local_file_system.h"

namespace systole::cpu {
namespace {

constexpr std::string_view kMagic = "systole code 4\n";
constexpr size_t kDigestBytes = 32;
// Eviction lists the folder once for about this share of the limit written.
constexpr int64_t kEvictionsPerLimit = 64;

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
    : file_system_(file_system),
      folder_(std::move(folder)),
      max_bytes_(max_bytes),
      random_(std::random_device{}()) {}

std::string CodeCache::path(const std::string& key) const {
  return join_path(folder_, cache_entry_name(key));
}

void CodeCache::warn(const std::string& message) {
  if (!warned_.exchange(true)) log_warning("{}", message);
}

std::optional<std::string> CodeCache::find(const std::string& key) {
  try {
    const std::string file = read_file(file_system_, path(key));
    const std::string_view object = object_in(file);
    if (object.empty()) {
      warn(fmt::format("{}: compiled code, got {} damaged bytes; it is compiled again", path(key),
                       file.size()));
      return std::nullopt;
    }
    touch(key);
    return std::string(object);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) warn(error.message() + "; the code is compiled again");
  }
  return std::nullopt;
}

void CodeCache::touch(const std::string& key) {
  try {
    file_system_.touch(path(key));
  } catch (const Error& error) {
    // Another process may have evicted it.
    if (error.code() != Code::not_found) warn(error.message() + "; it may be evicted early");
  }
}

void CodeCache::store(const std::string& key, std::string_view object) {
  const MutexLock lock(mutex_);
  try {
    file_system_.make_directories(folder_);
    write_file_atomically(file_system_, path(key), [&](WritableFile& file) {
      file.append(kMagic);
      file.append(raw_digest(object));
      file.append(object);
    });
    const int64_t bytes_per_eviction = std::max<int64_t>(max_bytes_ / kEvictionsPerLimit, 1);
    std::uniform_int_distribution<int64_t> any(0, bytes_per_eviction - 1);
    if (any(random_) < static_cast<int64_t>(object.size())) evict();
  } catch (const Error& error) {
    warn(error.message() + "; compiled code is not kept");
  }
}

void CodeCache::evict() {
  const std::vector<CacheEntry> entries = cache_entries(file_system_, folder_);
  int64_t total = 0;
  for (const CacheEntry& entry : entries) total += entry.bytes;
  for (const CacheEntry& entry : entries) {
    if (total <= max_bytes_) return;
    try {
      file_system_.remove(entry.path);
    } catch (const Error& error) {
      // Another process was first.
      if (error.code() != Code::not_found) throw;
    }
    total -= entry.bytes;
  }
}

std::unique_ptr<CodeCache> open_code_cache(const std::string& folder) {
  const std::string path = folder.empty() ? default_cache_folder() : folder;
  if (path.empty()) return nullptr;
  try {
    const std::string reason = make_private_folder(path);
    if (reason.empty())
      return std::make_unique<CodeCache>(private_file_system(), path, cache_size_limit());
    log_once(LogLevel::warning, "{}: cache of compiled code, {}; it is not used", path, reason);
  } catch (const Error& error) {
    // Homes that do not exist or cannot be written are usual for services.
    const char* named = std::getenv("SYSTOLE_CACHE_DIR");  // NOLINT(concurrency-mt-unsafe)
    if (folder.empty() && named == nullptr) {
      log_debug("{}; compiled code is not kept", error.message());
    } else {
      log_once(LogLevel::warning, "{}; compiled code is not kept", error.message());
    }
  }
  return nullptr;
}

}  // namespace systole::cpu
