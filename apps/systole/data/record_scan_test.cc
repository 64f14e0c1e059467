#include "apps/systole/data/record_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

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
  EXPECT_EQ(scan(5'200 * kFramed).damage, "");
  const RecordScan damage = scan(5'201 * kFramed);
  EXPECT_EQ(damage.records, 5'200);
  EXPECT_GT(damage.seconds, 0);
  EXPECT_THAT(damage.damage, ::testing::HasSubstr("b: checksum of the length of the record"));
}

// Between one look at it and the next a second passes, and then, after `slow_looks`, 10 ms.
class SlowAtFirst final : public Clock {
 public:
  explicit SlowAtFirst(int slow_looks) : slow_looks_(slow_looks) {}
  std::chrono::system_clock::time_point now() override { return {}; }
  std::chrono::steady_clock::time_point steady_now() override {
    passed_ +=
        ++looks_ <= slow_looks_ ? std::chrono::milliseconds(1'000) : std::chrono::milliseconds(10);
    return std::chrono::steady_clock::time_point(passed_);
  }
  void sleep(std::chrono::nanoseconds) override {}
  int looks() const { return looks_; }

 private:
  int slow_looks_;
  int looks_ = 0;
  std::chrono::milliseconds passed_{0};
};

TEST(RecordScanTest, TheBestOfRoundsThatLastLongEnough) {
  MemoryFileSystem fs;
  const std::vector<std::string> files{"a"};
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    RecordWriter writer(fs, "a", {.compression = compression});
    writer.write("record");
    writer.close();
    SlowAtFirst cold(2);  // the first round
    EXPECT_NEAR(scan_records(fs, files, compression, 1'000, cold).seconds, 0.01, 1e-9);
    EXPECT_EQ(cold.looks(), 4);
    SlowAtFirst warm(0);
    EXPECT_NEAR(scan_records(fs, files, compression, 1'000, warm).seconds, 0.01, 1e-9);
    EXPECT_NEAR(warm.looks(), 2 * 10, 2);  // 0.1 s
  }
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
