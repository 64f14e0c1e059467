#include "systole/base/escape.h"

#include <fmt/format.h>

#include <iterator>

namespace systole {

std::string escaped(std::string_view text, const EscapeOptions& options) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\\' || (c == options.quote && c != '\0')) {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f || (options.ascii && byte >= 0x80)) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::string quoted_text(std::string_view text) {
  constexpr size_t kMaxBytes = 40;
  const std::string_view shown = text.substr(0, kMaxBytes);
  return fmt::format("'{}{}'", escaped(shown, {.ascii = true}),
                     shown.size() < text.size() ? "..." : "");
}

}  // namespace systole
