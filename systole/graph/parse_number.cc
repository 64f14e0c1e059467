#include "systole/graph/parse_number.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace systole {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

template <class T>
std::optional<T> parse_number(std::string_view text) {
  text = trimmed(text);
  // from_chars takes no plus sign; two signs are an error still.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if constexpr (std::is_floating_point_v<T>) {
    if (error == std::errc::result_out_of_range) {
      return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
    }
  }
  return std::nullopt;
}

template std::optional<int32_t> parse_number(std::string_view text);
template std::optional<int64_t> parse_number(std::string_view text);
template std::optional<float> parse_number(std::string_view text);
template std::optional<double> parse_number(std::string_view text);

}  // namespace systole
