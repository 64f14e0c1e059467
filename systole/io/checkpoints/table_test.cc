// Tables that no writer makes.
#include "systole/io/checkpoints/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <snappy.h>

#include <cstring>

#include "systole/base/testing/error_of.h"
#include "systole/io/wire/crc32c.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}

std::string u32(uint32_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// An entry that shares `shared` bytes with the key before it.
std::string entry(size_t shared, const std::string& suffix, const std::string& value) {
  return varint(shared) + varint(suffix.size()) + varint(value.size()) + suffix + value;
}

class HostileTable {
 public:
  // Adds a block and returns its handle.
  std::string add(const std::string& entries, uint32_t restarts = 0, bool compressed = false) {
    std::string block = entries;
    for (uint32_t i = 0; i < restarts; ++i) block += u32(0);
    block += u32(restarts);
    if (compressed) {
      std::string packed;
      snappy::Compress(block.data(), block.size(), &packed);
      block = packed;
    }
    return add_stored(block, compressed ? '\1' : '\0');
  }
  std::string add_stored(std::string block, char type) {
    const std::string handle = varint(bytes_.size()) + varint(block.size());
    block += type;
    bytes_ += block + u32(mask_crc32c(crc32c(block)));
    return handle;
  }
  std::string finish(const std::string& index) {
    std::string footer = varint(0) + varint(4) + index;
    footer.resize(40);
    return bytes_ + footer + u32(0x8b80fb57U) + u32(0xdb477524U);
  }

 private:
  std::string bytes_;
};

TEST(HostileTableTest, BlocksAreReadOnce) {
  HostileTable table;
  const std::string empty = table.add("", 1'000'000);  // 4 MB
  std::string index;
  for (int i = 0; i < 30'000; ++i) index += entry(0, fmt::format("{:06}", i), empty);
  const std::string bytes = table.finish(table.add(index));
  EXPECT_GT(bytes.size(), 4'400'000U);
  EXPECT_THAT(error_of([&] { read_table("t", bytes); }),
              AllOf(StartsWith("DATA_LOSS: t: index of the table, got a block at 0, expected one"),
                    HasSubstr("ends at 4000009")));
}

// Each entry of a few bytes has a key of megabytes.
TEST(HostileTableTest, KeysAreBounded) {
  HostileTable table;
  std::string entries = entry(0, std::string(1'000'000, 'k'), "");
  for (size_t i = 0; i < 500'000; ++i) entries += entry(1'000'000 + i, "k", "");
  const std::string data = table.add(entries);
  EXPECT_THAT(error_of([&] { read_table("t", table.finish(table.add(entry(0, "z", data)))); }),
              AllOf(StartsWith("DATA_LOSS: t: block at 0, got keys of more than"),
                    HasSubstr("expected at most 64 times")));
}

TEST(HostileTableTest, CompressedBlocksAreBounded) {
  HostileTable table;
  const std::string data = table.add_stored(varint(uint64_t{1} << 29U) + "x", '\1');
  EXPECT_THAT(error_of([&] { read_table("t", table.finish(table.add(entry(0, "z", data)))); }),
              HasSubstr("block at 0, got other bytes, expected what snappy wrote"));
  HostileTable honest;
  const std::string packed =
      honest.add(entry(0, "a", std::string(1'000'000, 'x')), 0, /*compressed=*/true);
  EXPECT_EQ(read_table("t", honest.finish(honest.add(entry(0, "z", packed)))).size(), 1U);
}

}  // namespace
}  // namespace systole
