#include "apps/systole/data/record_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/io/memory_file_system.h"
#include "systole/io/tfrecord.h"

namespace systole::app {
namespace {

using systole::testing::error_of;

// Behind the limit nothing is read, be it damaged.
TEST(RecordScanTest, EndsWhereItsLimitIsReached) {
  constexpr uint64_t kFramed = 84 + 16;
  MemoryFileSystem fs;
  const std::vector<std::string> files{"a", "b"};
  for (const std::string& file : files) {
    RecordWriter writer(fs, file);
    for (int i = 0; i < 5'000; ++i) writer.write(std::string(84, static_cast<char>(i)));
    writer.close();
  }
  const auto scan = [&](uint64_t most_bytes) {
    return scan_records(fs, files, Compression::none, most_bytes, real_clock());
  };
  const RecordScan all = scan(uint64_t{1} << 40U);
  EXPECT_EQ(all.records, 10'000);
  EXPECT_EQ(all.bytes, 10'000 * kFramed);
  EXPECT_GT(all.seconds, 0);

  std::string damaged = read_file(fs, "b");
  damaged[200 * kFramed] = 'x';
  write_file_atomically(fs, "b", damaged);
  EXPECT_EQ(scan(1'000).records, 10);
  EXPECT_EQ(scan(1'001).records, 11);
  EXPECT_EQ(scan(5'200 * kFramed).records, 5'200);
  EXPECT_THAT(error_of([&] { scan(5'201 * kFramed); }),
              ::testing::HasSubstr("DATA_LOSS: b: checksum of the length of the record"));
}

TEST(RecordScanTest, CompressedFiles) {
  MemoryFileSystem fs;
  RecordWriter writer(fs, "a", {.compression = Compression::gzip});
  for (int i = 0; i < 100; ++i) writer.write("record");
  writer.close();
  const std::vector<std::string> files{"a"};
  const auto scan = [&](uint64_t most_bytes) {
    return scan_records(fs, files, Compression::gzip, most_bytes, real_clock());
  };
  EXPECT_EQ(scan(uint64_t{1} << 40U).bytes, 100 * (6 + 16));
  EXPECT_EQ(scan(23).records, 2);
}

}  // namespace
}  // namespace systole::app
