#include "systole/base/text.h"

namespace systole {

std::string_view without_blanks(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

size_t utf8_length(std::string_view text) {
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

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const uint32_t tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const uint32_t lead = (0xff80U >> tails & 0xffU) | code >> (6 * tails);  // 0xc0, 0xe0 or 0xf0
  out += static_cast<char>(lead);
  for (uint32_t tail = tails; tail-- > 0;) {
    out += static_cast<char>(0x80U | (code >> (6 * tail) & 0x3fU));
  }
}

}  // namespace systole
