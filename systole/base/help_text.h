// Text for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace systole {

// Returns the columns of the terminal on standard output, clamped to 40 to 100; 100 without a
// terminal.
size_t terminal_width();

// Breaks the text at spaces into lines of `width` columns. Indents all lines but the first, and
// counts the indent for the first.
std::string wrapped(const std::string& text, size_t indent, size_t width);

// A label and its text.
struct HelpRow {
  std::string label;
  std::string text;
};
// Returns an empty line, the heading, and the rows with aligned texts; "" without rows.
std::string help_rows(const std::string& heading, const std::vector<HelpRow>& rows, size_t width);

}  // namespace systole
