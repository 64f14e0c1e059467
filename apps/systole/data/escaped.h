// Text on one line.
#pragma once

#include <string>
#include <string_view>

namespace systole::app {

// Line ends, other control characters and backslashes as C writes them: "\n", "\x01", "\\".
std::string escaped(std::string_view text);

}  // namespace systole::app
