// MD5: a hash of words that is the same in every process. Not for security. Source: RFC 1321.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace systole::keras {

std::array<uint8_t, 16> md5(std::string_view bytes);

}  // namespace systole::keras
