// Positions in strings, by bytes or by UTF-8 characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace systole {

// Errors: INVALID_ARGUMENT unless "BYTE" or "UTF8_CHAR".
void check_text_unit(std::string_view unit);
// Characters begin at every byte that does not continue one; what is no UTF-8 counts by bytes.
size_t count_utf8(std::string_view text);
// The byte at which character `index` begins; text.size() when there are not so many.
size_t utf8_offset(std::string_view text, size_t index);

}  // namespace systole
