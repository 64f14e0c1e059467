// Text: blanks at its ends, and characters of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace systole {

// Returns `text` without the characters of `blanks` at its ends.
std::string_view without_blanks(std::string_view text, std::string_view blanks = " \t");

// Returns the bytes of the character at the start of `text`; 0 if they are not UTF-8 (RFC 3629), as
// surrogates and longer forms than needed are not. REQUIRES: `text` is not empty.
size_t utf8_length(std::string_view text);

// Appends a character. REQUIRES: `code` is at most 0x10ffff.
void append_utf8(std::string& out, uint32_t code);

}  // namespace systole
