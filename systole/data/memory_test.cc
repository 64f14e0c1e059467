// Files larger than the memory that a process may have stream through a pipeline.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "systole/base/testing/sanitized.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/data/dataset.h"
#include "systole/data/sources.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/tfrecord.h"

namespace systole::data {
namespace {

using systole::testing::kSanitized;

constexpr int64_t kRecordBytes = 100'000;
constexpr int64_t kRecords = 2560;  // 256 MB
constexpr int64_t kAllowedBytes = int64_t{40} << 20;

class LargeFile {
 public:
  LargeFile() {
    RecordWriter writer(local_file_system(), path_, {.atomic = false});
    const std::string record(kRecordBytes, 'x');
    for (int64_t i = 0; i < kRecords; ++i) writer.write(record);
    writer.close();
  }
  const std::string& path() const { return path_; }

 private:
  const testing::TempFolder folder_;
  const std::string path_ = folder_ / "records";
};

// Private memory that can be written to, in bytes: what RLIMIT_DATA limits.
int64_t data_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmData:") continue;
    int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes << 10;
  }
  return 0;
}

struct Streamed {
  const char* name;
  std::function<Dataset(const Dataset& records)> make;
  int64_t elements;
};

std::vector<Streamed> streamed() {
  const auto length = [](const Element& x) {
    return Element(Tensor(static_cast<int64_t>(x.leaf().data<std::string>()[0].size())));
  };
  const ElementSpec number{TensorType{DType::s64, {}}};
  return {
      {"records", [](const Dataset& r) { return r; }, kRecords},
      {"batch", [](const Dataset& r) { return r.batch(8); }, kRecords / 8},
      {"shuffle", [](const Dataset& r) { return r.shuffle(50, {.seed = 1}); }, kRecords},
      {"prefetch", [](const Dataset& r) { return r.prefetch(20); }, kRecords},
      {"all",
       [=](const Dataset& r) {
         return r.shuffle(50, {.seed = 1})
             .map_cpp(length, number, {.num_parallel_calls = 2})
             .batch(4)
             .prefetch();
       },
       kRecords / 4},
      {"repeat",
       [](const Dataset& r) {
         return r.repeat(2).window(4).flat_map(
             [](const Nest<Dataset>& w) { return w.leaf().batch(4); });
       },
       kRecords / 2},
  };
}

// In a process of its own: the limit stays.
[[noreturn]] void stream_with_limit(const Dataset& dataset, int64_t expected) {
  const auto limit = static_cast<rlim_t>(data_bytes() + kAllowedBytes);
  const rlimit data{.rlim_cur = limit, .rlim_max = limit};
  if (setrlimit(RLIMIT_DATA, &data) != 0) std::_Exit(2);
  int64_t count = 0;
  try {
    Iterator iterator(dataset);
    for (Components row; iterator.next_row(row);) ++count;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(3);
  }
  std::_Exit(count == expected ? 0 : 4);
}

TEST(MemoryTest, LargeFilesStreamInConstantMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  const LargeFile file;
  for (const Streamed& pipeline : streamed()) {
    SCOPED_TRACE(pipeline.name);
    const Dataset dataset = pipeline.make(TFRecordDataset(file.path()));
    EXPECT_EXIT(stream_with_limit(dataset, pipeline.elements), ::testing::ExitedWithCode(0), "");
  }
  // The limit is one: what keeps the file runs into it.
  EXPECT_EXIT(stream_with_limit(TFRecordDataset(file.path()).cache(), kRecords),
              ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace systole::data
