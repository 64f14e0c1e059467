// Texts from files, made safe to show.
#pragma once

#include <string>
#include <string_view>

namespace systole::board {

// Returns valid UTF-8: invalid bytes and control characters become U+FFFD. A text longer than
// `max_bytes` is cut and ends with its length and a hash, so that different texts stay different.
std::string safe_text(std::string_view text, size_t max_bytes);

// Returns whether the bytes are valid UTF-8 without control characters other than tab and newline.
bool is_safe_text(std::string_view text);

}  // namespace systole::board
