#include "systole/io/wire/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace systole {
namespace {

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

// One bit at a time, as the definition has it.
uint32_t by_definition(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
  }
  return ~crc;
}

// The values of RFC 3720, B.4, and the customary check value.
TEST(Crc32cTest, PublishedValues) {
  std::string rising(32, '\0');
  for (size_t i = 0; i < 32; ++i) rising[i] = static_cast<char>(i);
  const std::string falling(rising.rbegin(), rising.rend());
  const struct {
    std::string bytes;
    uint32_t crc;
  } rows[] = {{"", 0},
              {"123456789", 0xe3069283},
              {std::string(32, '\0'), 0x8a9136aa},
              {std::string(32, '\xff'), 0x62a8ab43},
              {rising, 0x46dd794e},
              {falling, 0x113fdb5c}};
  for (const auto& [bytes, crc] : rows) {
    EXPECT_EQ(crc32c(bytes), crc);
    EXPECT_EQ(crc32c_by_tables(bytes), crc);
  }
}

TEST(Crc32cTest, EveryLengthAndAlignment) {
  const std::string bytes = random_bytes(8000);
  for (size_t size = 0; size < 800; ++size) {
    const std::string_view part = std::string_view(bytes).substr(size % 9, size);
    const uint32_t expected = by_definition(part);
    ASSERT_EQ(crc32c(part), expected) << size;
    ASSERT_EQ(crc32c_by_tables(part), expected) << size;
  }
  for (const size_t size : {3071, 3072, 3073, 6144, 7999}) {
    const std::string_view part = std::string_view(bytes).substr(1, size);
    EXPECT_EQ(crc32c(part), by_definition(part)) << size;
  }
}

TEST(Crc32cTest, ContinuesFromWhatCameBefore) {
  const std::string bytes = random_bytes(5000);
  const std::string_view all = bytes;
  for (const size_t cut : {0, 1, 7, 96, 1000, 4999, 5000}) {
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all));
    EXPECT_EQ(crc32c_by_tables(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all));
  }
}

TEST(Crc32cTest, JoinsWhatWasSummedApart) {
  const std::string bytes = random_bytes(70000);
  const std::string_view all = bytes;
  for (const size_t cut : {0, 1, 7, 4096, 65537, 69999, 70000}) {
    const uint32_t first = crc32c(all.substr(0, cut));
    EXPECT_EQ(crc32c_joined(first, crc32c(all.substr(cut)), all.size() - cut), crc32c(all)) << cut;
  }
}

TEST(Crc32cTest, Mask) {
  EXPECT_EQ(mask_crc32c(0), 0xa282ead8U);
  EXPECT_EQ(mask_crc32c(0xffffffffU), 0xa282ead7U);
  EXPECT_EQ(mask_crc32c(1), 0xa284ead8U);  // 1 << 17 is added
  EXPECT_EQ(mask_crc32c(0x8000U), 0xa282ead9U);
}

}  // namespace
}  // namespace systole
