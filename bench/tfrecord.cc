// Reads TFRecord files with both checksums of every record. The limit is a plain loop that reads
// and checksums the same bytes. The file is in the page cache. One thread.
#include "systole/io/records/tfrecord.h"

#include <unistd.h>

#include <filesystem>

#include "bench/figures.h"
#include "bench/plain_read.h"
#include "systole/io/local/local_file_system.h"

namespace bench {
namespace {

constexpr int64_t kFileBytes = int64_t{128} << 20;
constexpr size_t kPlainBufferBytes = 256U << 10U;

// A file of records of equal size, removed at exit.
class RecordFile {
 public:
  explicit RecordFile(size_t record_bytes)
      : path_(std::filesystem::temp_directory_path() /
              ("systole_bench." + std::to_string(::getpid()) + "." + std::to_string(record_bytes))),
        records_(kFileBytes / static_cast<int64_t>(record_bytes)) {
    std::string record(record_bytes, '\0');
    for (size_t i = 0; i < record.size(); ++i)
      record[i] = static_cast<char>(i * 2654435761U >> 13U);
    systole::RecordWriter writer(systole::local_file_system(), path_, {.atomic = false});
    for (int64_t i = 0; i < records_; ++i) writer.write(record);
    writer.close();
  }
  ~RecordFile() { std::filesystem::remove(path_); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  const std::string& path() const { return path_; }

  static const RecordFile& of(size_t record_bytes) {
    static const RecordFile large(100'000);
    static const RecordFile small(100);
    return record_bytes == 100 ? small : large;
  }

 private:
  std::string path_;
  int64_t records_;
};

void ours(benchmark::State& state, size_t record_bytes) {
  const RecordFile& file = RecordFile::of(record_bytes);
  for (auto _ : state) {
    systole::RecordReader reader(systole::local_file_system(), file.path());
    while (const auto record = reader.next()) benchmark::DoNotOptimize(record->data());
  }
}

void plain(benchmark::State& state, size_t record_bytes) {
  const RecordFile& file = RecordFile::of(record_bytes);
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPlainBufferBytes);
  for (auto _ : state) {
    benchmark::DoNotOptimize(plain_checksum(file.path(), {buffer.get(), kPlainBufferBytes}));
  }
}

}  // namespace

void add_tfrecord_figures() {
  const auto row = [](const char* name, const char* unit, double work, size_t record_bytes) {
    add({.name = name,
         .unit = unit,
         .work = work,
         .ours = [record_bytes](benchmark::State& state) { ours(state, record_bytes); },
         .limit = [record_bytes](benchmark::State& state) { plain(state, record_bytes); }});
  };
  row("tfrecord.read", "GB/s", 1e-9 * kFileBytes, 100'000);
  row("tfrecord.read.100b", "M/s", 1e-6 * kFileBytes / 100, 100);
}

}  // namespace bench
