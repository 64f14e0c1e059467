#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "systole/backends/pjrt/plugin.h"
#include "systole/base/environment.h"
#include "systole/base/library_path.h"

namespace systole::pjrt {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string, std::less<>> known_plugins() {
  std::map<std::string, std::string, std::less<>> plugins;
  if (const std::string path = own_library_path("libsystole_pjrt.so"); fs::exists(path))
    plugins["systole"] = path;
  if (const std::string path = environment_value("TPU_LIBRARY_PATH"); !path.empty()) {
    plugins["tpu"] = path;
  }
  const std::string text = environment_value("PJRT_NAMES_AND_LIBRARY_PATHS");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == entry.size()) {
      throw invalid_argument("PJRT_NAMES_AND_LIBRARY_PATHS: entry, got '{}', expected name:path",
                             entry);
    }
    plugins[std::string(entry.substr(0, colon))] = entry.substr(colon + 1);
  }
  return plugins;
}

}  // namespace

std::string find_plugin(std::string_view name) {
  std::string wanted(name);
  if (wanted.empty()) {
    wanted = environment_value("SYSTOLE_PJRT_PLUGIN");
    if (wanted.empty()) {
      throw not_found(
          "pjrt: plugin, got none, expected 'pjrt:PATH', 'pjrt:NAME' or SYSTOLE_PJRT_PLUGIN");
    }
  }
  if (wanted.find('/') != std::string::npos || wanted.ends_with(".so")) return wanted;
  const auto plugins = known_plugins();
  const auto plugin = plugins.find(wanted);
  if (plugin != plugins.end()) return plugin->second;
  std::vector<std::string_view> names;
  for (const auto& [known, path] : plugins) names.push_back(known);
  throw not_found(
      "pjrt: plugin, got '{}', expected a path or one of the names {}; "
      "PJRT_NAMES_AND_LIBRARY_PATHS=name:path adds names",
      wanted, names.empty() ? "(none)" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace systole::pjrt
