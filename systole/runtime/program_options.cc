#include "systole/runtime/program_options.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::runtime {

std::string to_text(const ProgramOptions& options) {
  std::string names;
  ProgramOptions::for_each(options, [&](const char* name, bool set) {
    if (set) names += (names.empty() ? "" : ",") + std::string(name);
  });
  return "{" + names + "}";
}

ProgramOptions program_options_of(std::string_view text) {
  const auto fail = [&] {
    ProgramOptions all;
    ProgramOptions::for_each(all, [](const char*, bool& option) { option = true; });
    return invalid_argument("program options, got '{}', expected names out of {}", text,
                            to_text(all));
  };
  if (text.empty()) return {};
  if (!text.starts_with('{') || !text.ends_with('}') || text.size() < 2) throw fail();
  std::string_view rest = text.substr(1, text.size() - 2);
  ProgramOptions options;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    bool known = false;
    ProgramOptions::for_each(options, [&](std::string_view name, bool& option) {
      if (name == word) known = option = true;
    });
    if (!known) throw fail();
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return options;
}

void check_program_options(std::string_view platform, const ProgramOptions& options,
                           std::initializer_list<std::string_view> supported) {
  ProgramOptions::for_each(options, [&](std::string_view name, bool set) {
    if (!set || std::ranges::find(supported, name) != supported.end()) return;
    throw unimplemented("{}: program option '{}', got true, expected false: it has none", platform,
                        name);
  });
}

}  // namespace systole::runtime
