#include "systole/graph/ops/string/text_unit.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

void check_text_unit(std::string_view unit) {
  if (unit != "BYTE" && unit != "UTF8_CHAR") {
    throw invalid_argument("unit, got '{}', expected 'BYTE' or 'UTF8_CHAR'", unit);
  }
}

size_t count_utf8(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

size_t utf8_offset(std::string_view text, size_t index) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && index-- == 0) return i;
  }
  return text.size();
}

}  // namespace systole
