#include "apps/systole/manual/choices.h"

#include <algorithm>

namespace systole::app {

std::vector<std::string> choices_of(const OptionText& option) {
  std::vector<std::string> choices;
  if (option.value.find('|') == std::string::npos) return choices;
  size_t begin = 0;
  while (begin <= option.value.size()) {
    const size_t end = std::min(option.value.find('|', begin), option.value.size());
    choices.push_back(option.value.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

ValueKind kind_of(const OptionText& option) {
  if (option.value.empty()) return ValueKind::none;
  if (!choices_of(option).empty()) return ValueKind::choices;
  if (option.value == "FOLDER" || option.value == "DIR") return ValueKind::folder;
  // "N", "X" and "SIZE" are numbers; a text may be the name of a file.
  const bool text = option.value != "N" && option.value != "X" && option.value != "SIZE" &&
                    option.value != "C" && option.value != "HOST:PORT";
  return text ? ValueKind::file : ValueKind::other;
}

std::string short_text(std::string_view text) {
  for (const std::string_view mark : {" [", ". ", "; "}) text = text.substr(0, text.find(mark));
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace systole::app
