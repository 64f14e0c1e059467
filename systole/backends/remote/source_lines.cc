#include "systole/backends/remote/source_lines.h"

#include <string_view>

namespace systole::remote {
namespace {

constexpr std::string_view kNode = "node '";

// The place of the node, "" if none of this name has one.
std::string place_of(const hlo::Computation& computation, std::string_view name) {
  for (const hlo::Instruction* instruction : computation.instructions()) {
    const hlo::Metadata& metadata = instruction->metadata();
    if (metadata.name == name && metadata.where.known()) return metadata.where.to_string();
    for (const auto& region : instruction->regions()) {
      std::string inside = place_of(*region, name);
      if (!inside.empty()) return inside;
    }
  }
  return "";
}

}  // namespace

std::string with_source_line(const std::string& message, const hlo::Module& module) {
  const auto node = message.find(kNode);
  if (node == std::string::npos) return message;
  const auto begin = node + kNode.size();
  const auto end = message.find('\'', begin);
  if (end == std::string::npos || message.compare(end, 5, "' at ") == 0) return message;
  const std::string_view name = std::string_view(message).substr(begin, end - begin);
  for (const auto& function : module.functions()) {
    const std::string place = place_of(*function, name);
    if (!place.empty())
      return message.substr(0, end + 1) + " at " + place + message.substr(end + 1);
  }
  return message;
}

}  // namespace systole::remote
