// Numbers as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace systole {

// Returns an element with the fewest digits that restore it: "0.96", not "0.95999998". Booleans are
// 0 and 1. REQUIRES: a tensor of numbers or booleans.
std::string number_text(const Tensor& tensor, int64_t index = 0);

// The result for a number too large for a float or double: infinity, as from strtod, or none.
enum class TooLarge : uint8_t { infinite, none };

// Parses all of `text` as a number, without white space at its ends; nullopt if it is not one.
// Integers are decimal and in the range of T. Floats are those that strtod reads in decimal, "inf"
// and "nan"; too small ones become 0 or subnormal. T is an integer of 8 to 64 bits, float or
// double.
template <class T>
std::optional<T> parse_number(std::string_view text, TooLarge too_large = TooLarge::infinite);

extern template std::optional<int8_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<int16_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<int32_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<int64_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<uint8_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<uint16_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<uint32_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<uint64_t> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<float> parse_number(std::string_view text, TooLarge too_large);
extern template std::optional<double> parse_number(std::string_view text, TooLarge too_large);

}  // namespace systole
