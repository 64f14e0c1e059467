// Numbers of things in messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace systole {

// Returns "1 file", "2 files", "0 files" for the noun `what`, whose plural must end in s.
inline std::string counted(int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace systole
