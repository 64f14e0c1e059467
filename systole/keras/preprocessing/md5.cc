#include "systole/keras/preprocessing/md5.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace systole::keras {
namespace {

constexpr std::array<std::array<int, 4>, 4> kMd5Shifts = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

// floor(2^32 |sin(i + 1)|), as the RFC defines its table.
const std::array<uint32_t, 64>& md5_table() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> values{};
    for (size_t i = 0; i < values.size(); ++i) {
      values.at(i) = static_cast<uint32_t>(
          std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    }
    return values;
  }();
  return table;
}

void md5_block(const char* bytes, std::array<uint32_t, 4>& state) {
  std::array<uint32_t, 16> words{};
  std::memcpy(words.data(), bytes, 64);
  auto [a, b, c, d] = state;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t mix = 0;
    uint32_t word = 0;
    switch (i / 16) {
      case 0:
        mix = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mix = (d & b) | (~d & c);
        word = (5 * i + 1) % 16;
        break;
      case 2:
        mix = b ^ c ^ d;
        word = (3 * i + 5) % 16;
        break;
      default:
        mix = c ^ (b | ~d);
        word = 7 * i % 16;
    }
    const uint32_t sum = a + mix + md5_table().at(i) + words.at(word);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kMd5Shifts.at(i / 16).at(i % 4));
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::array<uint8_t, 16> md5(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little, "words are read as they are");
  std::string padded(bytes);
  padded += static_cast<char>(0x80);
  padded.resize((padded.size() + 8 + 63) / 64 * 64, '\0');
  const uint64_t bits = bytes.size() * 8;
  std::memcpy(padded.data() + padded.size() - 8, &bits, 8);
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (size_t at = 0; at < padded.size(); at += 64) md5_block(padded.data() + at, state);
  std::array<uint8_t, 16> digest{};
  std::memcpy(digest.data(), state.data(), digest.size());
  return digest;
}

}  // namespace systole::keras
