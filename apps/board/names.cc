#include "apps/board/names.h"

#include <fmt/format.h>

#include <cstdint>

#include "systole/base/text.h"
#include "systole/io/wire/crc32c.h"

namespace systole::board {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7f;
}

}  // namespace

std::string safe_text(std::string_view text, size_t max_bytes) {
  std::string safe;
  std::string_view rest = text.substr(0, max_bytes);
  safe.reserve(rest.size());
  while (!rest.empty()) {
    const size_t length = utf8_length(rest);
    if (length == 0 || is_control(rest[0])) {
      safe += "\xef\xbf\xbd";
      rest.remove_prefix(1);
    } else {
      safe += rest.substr(0, length);
      rest.remove_prefix(length);
    }
  }
  if (text.size() > max_bytes) {
    safe += fmt::format("\xe2\x80\xa6 ({} bytes, {:08x})", text.size(), crc32c(text));
  }
  return safe;
}

bool is_safe_text(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0 || is_control(text[0])) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace systole::board
