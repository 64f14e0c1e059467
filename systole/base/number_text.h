// Numbers as text spells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace systole {

// An element with as few digits as give it back: "0.96", not "0.95999998". REQUIRES: a tensor of
// numbers or of booleans, which are 0 and 1.
std::string number_text(const Tensor& tensor, int64_t index = 0);

// What a number becomes that is too large for a float or a double: infinity of its sign, as strtod
// has it, or none.
enum class TooLarge : uint8_t { infinite, none };

// The number that all of `text` spells, white space at its ends left out; nullopt when it spells
// none. Integers: decimal, in the range of T. Floats: as strtod reads decimal ones, "inf" and
// "nan"; one that is too small is 0 or subnormal. T: an integer of 8 to 64 bits, float or double.
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
