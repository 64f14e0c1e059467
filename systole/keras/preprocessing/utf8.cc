#include "systole/keras/preprocessing/utf8.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "systole/base/text.h"

namespace systole::keras {
namespace {

// The bytes of the character at the begin of `text`; 1 for a byte that is not UTF-8.
size_t utf8_size(std::string_view text) { return std::max<size_t>(utf8_length(text), 1); }

// Letters first..last, of which each `step`-th is upper case, become lower by adding `offset`.
struct CaseRange {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  int32_t offset;
};

// Source: UnicodeData.txt, simple lowercase mappings.
constexpr std::array<CaseRange, 38> kCaseRanges = {{
    {0x41, 0x5a, 1, 32},        {0xc0, 0xd6, 1, 32},     {0xd8, 0xde, 1, 32},
    {0x100, 0x12e, 2, 1},       {0x132, 0x136, 2, 1},    {0x139, 0x147, 2, 1},
    {0x14a, 0x176, 2, 1},       {0x178, 0x178, 1, -121}, {0x179, 0x17d, 2, 1},
    {0x1cd, 0x1db, 2, 1},       {0x1de, 0x1ee, 2, 1},    {0x1f8, 0x21e, 2, 1},
    {0x222, 0x232, 2, 1},       {0x370, 0x372, 2, 1},    {0x386, 0x386, 1, 38},
    {0x388, 0x38a, 1, 37},      {0x38c, 0x38c, 1, 64},   {0x38e, 0x38f, 1, 63},
    {0x391, 0x3a1, 1, 32},      {0x3a3, 0x3ab, 1, 32},   {0x3d8, 0x3ee, 2, 1},
    {0x400, 0x40f, 1, 80},      {0x410, 0x42f, 1, 32},   {0x460, 0x480, 2, 1},
    {0x48a, 0x4be, 2, 1},       {0x4c0, 0x4c0, 1, 15},   {0x4c1, 0x4cd, 2, 1},
    {0x4d0, 0x52e, 2, 1},       {0x531, 0x556, 1, 48},   {0x1e00, 0x1e94, 2, 1},
    {0x1e9e, 0x1e9e, 1, -7615}, {0x1ea0, 0x1efe, 2, 1},  {0x2160, 0x216f, 1, 16},
    {0x24b6, 0x24cf, 1, 26},    {0x2c60, 0x2c60, 1, 1},  {0x2c80, 0x2ce2, 2, 1},
    {0xa640, 0xa66c, 2, 1},     {0xff21, 0xff3a, 1, 32},
}};

uint32_t lower_of(uint32_t c) {
  const auto* const after = std::ranges::upper_bound(kCaseRanges, c, {}, &CaseRange::first);
  if (after == kCaseRanges.begin()) return c;
  const CaseRange& range = *(after - 1);
  if (c > range.last || (c - range.first) % range.step != 0) return c;
  return static_cast<uint32_t>(static_cast<int32_t>(c) + range.offset);
}

uint32_t decode(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  uint32_t c = byte(0) & (0x7fU >> character.size());
  for (size_t i = 1; i < character.size(); ++i) c = c << 6U | (byte(i) & 0x3fU);
  return c;
}

}  // namespace

std::vector<std::string_view> utf8_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    characters.push_back(text.substr(0, utf8_size(text)));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

std::string utf8_lower(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = text.substr(0, utf8_size(text));
    text.remove_prefix(character.size());
    const bool ascii = static_cast<unsigned char>(character[0]) < 0x80;
    const uint32_t c = ascii || character.size() > 1 ? decode(character) : 0;
    const uint32_t l = lower_of(c);
    if (l == c) {
      lower += character;
    } else {
      append_utf8(lower, l);
    }
  }
  return lower;
}

}  // namespace systole::keras
