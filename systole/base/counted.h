// A number of things, for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace systole {

// "1 file", "2 files", "0 files" for the noun `what` in the singular, whose plural ends in s.
inline std::string counted(int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace systole
