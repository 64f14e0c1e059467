#include "systole/base/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

namespace systole {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string number_text(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::u64) {
    return fmt::format("{}", tensor.data<uint64_t>()[index]);
  }
  if (dtype == DType::s64) {
    return fmt::format("{}", tensor.data<int64_t>()[index]);
  }
  const double value = tensor.as_double(index);
  if (dtype == DType::f64) return fmt::format("{}", value);
  if (!is_floating(dtype)) return fmt::format("{}", static_cast<int64_t>(value));
  return fmt::format("{}", static_cast<float>(value));
}

template <class T>
std::optional<T> parse_number(std::string_view text, TooLarge too_large) {
  text = without_space(text);
  // from_chars takes no plus sign; two signs remain an error.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if constexpr (std::is_floating_point_v<T>) {
    if (error == std::errc::result_out_of_range) {
      // from_chars does not distinguish too small from too large.
      const std::string copy(text);
      value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(copy.c_str(), nullptr))
                                       : static_cast<T>(std::strtod(copy.c_str(), nullptr));
      if (too_large == TooLarge::infinite || std::isfinite(value)) return value;
    }
  }
  return std::nullopt;
}

template std::optional<int8_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<int16_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<int32_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<int64_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<uint8_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<uint16_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<uint32_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<uint64_t> parse_number(std::string_view text, TooLarge too_large);
template std::optional<float> parse_number(std::string_view text, TooLarge too_large);
template std::optional<double> parse_number(std::string_view text, TooLarge too_large);

}  // namespace systole
