// Text for people who read it in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace systole {

// The columns of the terminal that standard output is, from 40 to 100; 100 when it is none.
size_t terminal_width();

// The text in lines of `width` columns, where it has blanks; all lines but the first begin with
// `indent` blanks, after which the first is thought to begin too.
std::string wrapped(const std::string& text, size_t indent, size_t width);

// What stands left of what.
struct HelpRow {
  std::string label;
  std::string text;
};
// An empty line, the heading, and the rows with their texts below each other; nothing when there
// are no rows.
std::string help_rows(const std::string& heading, const std::vector<HelpRow>& rows, size_t width);

}  // namespace systole
