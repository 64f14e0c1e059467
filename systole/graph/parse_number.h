// Numbers as text spells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace systole {

// The number that all of `text` spells, white space at its ends left out; nullopt when it spells
// none. Integers: decimal, in the range of T. Floats: as strtod reads decimal ones, "inf" and
// "nan"; too large a number is infinite, too small a one 0. T: int32_t, int64_t, float, double.
template <class T>
std::optional<T> parse_number(std::string_view text);

extern template std::optional<int32_t> parse_number(std::string_view text);
extern template std::optional<int64_t> parse_number(std::string_view text);
extern template std::optional<float> parse_number(std::string_view text);
extern template std::optional<double> parse_number(std::string_view text);

}  // namespace systole
