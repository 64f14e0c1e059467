// Bytes of text as C writes them.
#pragma once

#include <string>
#include <string_view>

namespace systole {

struct EscapeOptions {
  // Escaped as well: '"' for text between double quotes.
  char quote = '\0';
  // Escapes bytes from 0x80 on as well, so that the result is ASCII.
  bool ascii = false;
};

// Returns the text with backslashes and control bytes escaped: "\\", "\n", "\t", "\r", "\x01".
std::string escaped(std::string_view text, const EscapeOptions& options = {});

// Returns 'text' for an error: in single quotes, escaped to ASCII, cut to 40 bytes with "...".
std::string quoted_text(std::string_view text);

}  // namespace systole
