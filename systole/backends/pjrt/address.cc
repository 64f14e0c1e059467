#include "systole/backends/pjrt/address.h"

#include <algorithm>
#include <charconv>

#include "systole/base/error.h"

namespace systole::pjrt {
namespace {

template <class T>
bool parse_all_of(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

CreateOption parse_option(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw invalid_argument("pjrt: option of the plugin, got '{}', expected name=value", entry);
  }
  std::string name(entry.substr(0, equals));
  const std::string_view text = entry.substr(equals + 1);
  if (text == "true" || text == "false") return {std::move(name), text == "true"};
  if (int64_t integer = 0; parse_all_of(text, integer)) return {std::move(name), integer};
  if (float number = 0; parse_all_of(text, number)) return {std::move(name), number};
  return {std::move(name), std::string(text)};
}

}  // namespace

Address parse_address(std::string_view text) {
  const size_t mark = text.find('?');
  Address address{.plugin = std::string(text.substr(0, mark))};
  if (mark == std::string_view::npos) return address;
  std::string_view rest = text.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    address.options.push_back(parse_option(entry));
  }
  return address;
}

}  // namespace systole::pjrt
