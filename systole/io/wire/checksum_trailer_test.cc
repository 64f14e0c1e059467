#include "systole/io/wire/checksum_trailer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

TEST(ChecksumTrailerTest, FindsEachBit) {
  std::string file = "some bytes";
  append_checksum_trailer(file, kHdf5ChecksumMark);
  EXPECT_EQ(checked_without_trailer("f", file, kHdf5ChecksumMark), "some bytes");
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const size_t mark = std::string_view("some bytes").size();
    if (bit / 8 >= mark && bit / 8 < mark + kHdf5ChecksumMark.size()) {
      // Without its mark it is no trailer, and the bytes before it are whole.
      EXPECT_EQ(checked_without_trailer("f", damaged, kHdf5ChecksumMark), damaged);
    } else {
      EXPECT_THAT(
          testing::error_of([&] { checked_without_trailer("f", damaged, kHdf5ChecksumMark); }),
          ::testing::StartsWith("DATA_LOSS: f: checksum, got "))
          << bit;
    }
  }
}

TEST(ChecksumTrailerTest, FilesWithoutOne) {
  for (const char* text : {"", "x", "\xFD\xFF\xFF\xFF\x0F", "a longer file"}) {
    EXPECT_EQ(checked_without_trailer("f", text, kSavedModelChecksumMark), text);
  }
}

}  // namespace
}  // namespace systole
