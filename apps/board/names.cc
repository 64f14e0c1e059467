#include "apps/board/names.h"

#include <fmt/format.h>

#include <cstdint>

#include "systole/io/wire/crc32c.h"

namespace systole::board {
namespace {

// Returns the length of the UTF-8 sequence at the start of `text`; 0 if it is not valid.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint32_t least = 0;
  uint32_t code = 0;
  if (lead >= 0xc2 && lead < 0xe0) {
    length = 2, least = 0x80, code = lead & 0x1fU;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    length = 3, least = 0x800, code = lead & 0xfU;
  } else if (lead >= 0xf0 && lead < 0xf5) {
    length = 4, least = 0x10000, code = lead & 7U;
  }
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < least || code > 0x10ffff || surrogate ? 0 : length;
}

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
    const size_t length = sequence_length(rest);
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
    const size_t length = sequence_length(text);
    if (length == 0 || is_control(text[0])) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace systole::board
