#include "apps/systole/data/placed.h"

#include <mutex>
#include <set>

namespace systole::app {

SourceLocation lasting_where(const ConfigNode& node) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;  // never destroyed: nodes may be later
  SourceLocation where = node.where();
  const std::lock_guard lock(mutex);
  where.file = names->insert(node.file()).first->c_str();
  return where;
}

Error placed_once(const ConfigNode& node, const Error& error) {
  const bool has_place =
      error.message().starts_with(node.file() + ":") || error.message().starts_with("--set ");
  return has_place ? error : node.placed(error);
}

}  // namespace systole::app
