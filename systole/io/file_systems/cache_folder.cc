#include "systole/io/file_systems/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "systole/base/log.h"
#include "systole/base/number_text.h"

namespace systole {
namespace {

constexpr size_t kKeyDigits = 64;
constexpr std::string_view kEntrySuffix = ".o";
constexpr std::string_view kTemporarySuffix = ".o.tmp.";  // AtomicFile's
constexpr int64_t kDefaultMegabytes = 1024;

// Null where the variable is not set.
const char* variable(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
}

bool is_entry(std::string_view name) {
  if (name.size() < kKeyDigits) return false;
  const std::string_view key = name.substr(0, kKeyDigits);
  const std::string_view rest = name.substr(kKeyDigits);
  return key.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         (rest == kEntrySuffix || rest.starts_with(kTemporarySuffix));
}

void make_folders(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  if (errno == ENOENT && parent_path(folder) != folder) {
    make_folders(parent_path(folder));
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  }
  throw make_error(Code::unavailable, "{}: cannot make a directory, got '{}'", folder,
                   std::generic_category().message(errno));
}

}  // namespace

std::string default_cache_folder() {
  if (const char* folder = variable("SYSTOLE_CACHE_DIR")) return folder;
  // Relative paths are invalid by the XDG specification.
  const char* cache = variable("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return join_path(cache, "systole");
  const char* home = variable("HOME");
  if (home != nullptr && home[0] == '/') return join_path(home, ".cache/systole");
  return "";
}

int64_t cache_size_limit() {
  constexpr int64_t kMegabyte = int64_t{1} << 20;
  const char* text = variable("SYSTOLE_CACHE_MB");
  if (text == nullptr) return kDefaultMegabytes * kMegabyte;
  const auto megabytes = parse_number<uint32_t>(text);
  if (megabytes && *megabytes > 0) return int64_t{*megabytes} * kMegabyte;
  log_warning("SYSTOLE_CACHE_MB: got '{}', expected a positive integer; {} is used", text,
              kDefaultMegabytes);
  return kDefaultMegabytes * kMegabyte;
}

std::string make_private_folder(const std::string& folder) {
  make_folders(folder);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    throw make_error(Code::unavailable, "{}: cannot stat, got '{}'", folder,
                     std::generic_category().message(errno));
  }
  if (!S_ISDIR(info.st_mode)) return "not a directory";
  if (info.st_uid != ::geteuid())
    return fmt::format("owned by user {}, expected {}", info.st_uid, ::geteuid());
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("writable by others, got mode {:o}, expected 700", info.st_mode & 07777);
  return "";
}

std::string cache_entry_name(std::string_view key) {
  return std::string(key) + std::string(kEntrySuffix);
}

std::vector<CacheEntry> cache_entries(FileSystem& file_system, const std::string& folder) {
  std::vector<CacheEntry> entries;
  for (const std::string& name : file_system.list(folder)) {
    if (!is_entry(name)) continue;
    const std::string path = join_path(folder, name);
    try {
      const FileStat stat = file_system.stat(path);
      if (!stat.is_directory)
        entries.push_back({path, static_cast<int64_t>(stat.size), stat.modified_ns});
    } catch (const Error& error) {
      // Another process has removed it.
      if (error.code() != Code::not_found) throw;
    }
  }
  std::ranges::stable_sort(entries, {}, &CacheEntry::used_ns);
  return entries;
}

}  // namespace systole
