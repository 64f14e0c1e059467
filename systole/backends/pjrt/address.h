// The text after `pjrt:`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace systole::pjrt {

using CreateOption = std::pair<std::string, std::variant<std::string, int64_t, float, bool>>;

// "PLUGIN?name=value&name=value": a plugin, as find_plugin() takes it, and the options of
// PJRT_Client_Create. Values that are integers, numbers with a point, true and false are passed as
// such, all others as strings.
struct Address {
  std::string plugin;
  std::vector<CreateOption> options;
};

// Errors: INVALID_ARGUMENT for an option without '='.
Address parse_address(std::string_view text);

}  // namespace systole::pjrt
