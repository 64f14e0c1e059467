// systole cache: shows or empties the on-disk cache of compiled code.
#include <fmt/core.h>

#include <memory>
#include <string>

#include "apps/systole/base/command.h"
#include "apps/systole/base/output.h"
#include "systole/base/error.h"
#include "systole/io/file_systems/cache_folder.h"
#include "systole/io/local/local_file_system.h"
#include "systole/runtime/memory.h"

namespace systole::app {
namespace {

std::vector<CacheEntry> entries_of(const std::string& folder) {
  if (!local_file_system().exists(folder)) return {};
  return cache_entries(local_file_system(), folder);
}

int64_t total_bytes(const std::vector<CacheEntry>& entries) {
  int64_t total = 0;
  for (const CacheEntry& entry : entries) total += entry.bytes;
  return total;
}

std::string bytes_text(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

void print_info(const std::string& folder, bool json) {
  if (json) {
    const auto entries = folder.empty() ? std::vector<CacheEntry>() : entries_of(folder);
    return print_json({{"folder", folder.empty() ? nlohmann::json() : nlohmann::json(folder)},
                       {"programs", entries.size()},
                       {"bytes", total_bytes(entries)},
                       {"limit_bytes", cache_size_limit()}});
  }
  if (folder.empty()) {
    fmt::print("off: SYSTOLE_CACHE_DIR is empty, or HOME is not set\n");
    return;
  }
  const auto entries = entries_of(folder);
  fmt::print("folder    {}\nprograms  {}\nsize      {}\nlimit     {}\n", folder, entries.size(),
             bytes_text(total_bytes(entries)), bytes_text(cache_size_limit()));
}

void clear(const std::string& folder, bool json) {
  if (folder.empty()) return print_info(folder, json);
  const auto entries = entries_of(folder);
  for (const CacheEntry& entry : entries) {
    try {
      local_file_system().remove(entry.path);
    } catch (const Error& error) {
      if (error.code() != Code::not_found) throw;  // another process has removed it
    }
  }
  if (json) {
    return print_json({{"folder", folder},
                       {"removed_programs", entries.size()},
                       {"removed_bytes", total_bytes(entries)}});
  }
  fmt::print("removed {} programs, {}\n", entries.size(), bytes_text(total_bytes(entries)));
}

template <void (*kAction)(const std::string&, bool)>
void add_action(CommandLine& line) {
  const auto folder = std::make_shared<std::string>(default_cache_folder());
  line.option("folder", *folder, "Another folder than that of this user's cache");
  const auto json = std::make_shared<bool>(false);
  line.flag("--json", *json, kJsonMeaning);
  line.on_run([folder, json] { kAction(*folder, *json); });
}

constexpr Command kCacheCommands[] = {
    {.name = "info",
     .summary = "Shows where compiled code is kept, how much, and the limit",
     .add = add_action<print_info>},
    {.name = "clear", .summary = "Removes the compiled code", .add = add_action<clear>},
};

}  // namespace

const Command kCacheCommand{
    .name = "cache",
    .summary = "Shows or clears the cache of compiled code",
    .add = [](CommandLine& line) { add_commands(line, kCacheCommands); },
    .examples = {"info", "clear"},
};

}  // namespace systole::app
