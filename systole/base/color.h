// Colours of text on terminals.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace systole {

enum class ColorMode : uint8_t { automatic, always, never };
enum class Style : uint8_t { bold, red, yellow };

// Sets the mode of this process; automatic at first. Thread-safe.
void set_color_mode(ColorMode mode);
// Returns whether to colour text that is written to `file`. In the automatic mode: if it is a
// terminal, TERM is not "dumb" and NO_COLOR (no-color.org) is not set. Thread-safe.
bool uses_color(std::FILE* file);
// Returns the text with the escape sequences of the style, or as it is without colours.
std::string styled(Style style, std::string_view text, std::FILE* file);

}  // namespace systole
