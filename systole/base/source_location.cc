#include "systole/base/source_location.h"

#include <fmt/core.h>

#include <string_view>

namespace systole {

std::string SourceLocation::to_string() const {
  if (!known()) return "";
  std::string_view name = file;
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  return fmt::format("{}:{}", name, line);
}

}  // namespace systole
