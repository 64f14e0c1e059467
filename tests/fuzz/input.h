// Helpers of fuzz targets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/error.h"

namespace systole::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes an item from the front of `rest`: its length in two bytes, little-endian, and as many bytes
// of it as there are. Empty at the end.
inline std::string_view take_item(std::string_view& rest) {
  if (rest.size() < 2) {
    rest = {};
    return {};
  }
  const size_t size = static_cast<uint8_t>(rest[0]) | size_t{static_cast<uint8_t>(rest[1])} << 8U;
  const std::string_view item = rest.substr(2, size);
  rest.remove_prefix(2 + item.size());
  return item;
}

// Runs `action`, which may refuse its input with an Error and with nothing else.
template <class Action>
void may_refuse(const Action& action) {
  try {
    action();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
}

}  // namespace systole::fuzz
