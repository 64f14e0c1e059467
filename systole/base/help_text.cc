#include "systole/base/help_text.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace systole {
namespace {

constexpr size_t kWidestLabel = 26;
constexpr size_t kNarrowest = 40;
constexpr size_t kWidest = 100;

}  // namespace

size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0) return kWidest;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the system's own interface
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidest;
  return std::clamp(static_cast<size_t>(size.ws_col), kNarrowest, kWidest);
}

std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::string result;
  size_t column = indent;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (column > indent && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += " ";
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string help_rows(const std::string& heading, const std::vector<HelpRow>& rows, size_t width) {
  if (rows.empty()) return "";
  const size_t most = std::min(kWidestLabel, width / 2);
  size_t widest = 0;
  for (const HelpRow& row : rows) {
    if (row.label.size() <= most) widest = std::max(widest, row.label.size());
  }
  const size_t indent = 2 + widest + 2;
  std::string result = "\n" + heading;
  for (const HelpRow& row : rows) {
    result += "  " + row.label;
    const size_t blanks = row.label.size() <= widest ? widest - row.label.size() + 2 : indent;
    if (row.label.size() > widest) result += "\n";
    result += std::string(blanks, ' ') + wrapped(row.text, indent, width);
    result.erase(result.find_last_not_of(" \n") + 1);
    result += "\n";
  }
  return result;
}

}  // namespace systole
