// How much the commands print, and in which form.
#pragma once

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace systole::app {

// Returns whether commands print no progress (--quiet). main() sets it before a command runs.
inline bool& is_quiet() {
  static bool quiet = false;
  return quiet;
}

// The text of the option --json.
inline constexpr const char* kJsonMeaning = "Prints JSON";

// Prints JSON on stdout. Bytes that are no UTF-8 become U+FFFD.
inline void print_json(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace systole::app
