// TFRecord files. Format: tfrecord_format.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"
#include "systole/io/wire/compression.h"

namespace systole {

struct RecordReaderOptions {
  Compression compression = Compression::none;
  // Bytes to read at once. A larger record gets its own buffer.
  size_t buffer_bytes = 256U << 10U;
  // Refuses longer records before memory is allocated. (A protobuf message has at most 2 GB.)
  uint64_t max_record_bytes = uint64_t{1} << 31U;
};

// Reads one record after another and checks both checksums of each. Uses one buffer. Not
// thread-safe.
class RecordReader {
 public:
  // Errors: those of opening the file.
  RecordReader(FileSystem& file_system, const std::string& path, RecordReaderOptions options = {});
  explicit RecordReader(std::unique_ptr<RandomAccessFile> file, RecordReaderOptions options = {});

  // Returns the next record, valid until the next call; nullopt at the end of the file, where a
  // later call finds records added since. Errors: those of the file; DATA_LOSS, with the offset,
  // for a record that is truncated, has a wrong checksum, or a length beyond the file;
  // RESOURCE_EXHAUSTED beyond max_record_bytes. After an error offset() is that of the failed
  // record.
  std::optional<std::string_view> next();
  // Skips the record whose data failed its checksum; its length is intact, so the next record can
  // be found. Returns false, and skips nothing, after any other error.
  bool skip_damaged();

  // Returns the offset of the next record in uncompressed bytes, for seek().
  uint64_t offset() const { return offset_; }
  // Goes to an offset from offset(). Errors: OUT_OF_RANGE if the file ends before it. The next read
  // detects an offset inside a record by the checksum of its length.
  void seek(uint64_t offset);

  const std::string& path() const { return source_->path(); }

 private:
  std::optional<std::string_view> next_of_any_length();
  bool fill(size_t wanted);
  void check_length(uint64_t length);
  [[noreturn]] void fail_cut(uint64_t expected);
  [[noreturn]] void fail_length_checksum(uint32_t got, uint32_t expected);
  [[noreturn]] void fail_data_checksum(uint32_t got, uint32_t expected);

  std::unique_ptr<ByteSource> source_;
  RecordReaderOptions options_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // buffer_[begin_, end_) is not consumed yet
  size_t end_ = 0;
  uint64_t offset_ = 0;        // of begin_
  uint64_t known_length_ = 0;  // with its verified checksum
  uint32_t known_length_crc_;
  uint64_t damaged_bytes_ = 0;  // of the record whose data failed its checksum
};

struct RecordWriterOptions {
  Compression compression = Compression::none;
  int compression_level = -1;  // zlib's: 0 to 9; -1: its default
  // true: the file appears complete when close() returns, or not at all. false: it exists and grows
  // from the start.
  bool atomic = true;
};

// Writes one record after another. Not thread-safe. The destructor does not close: an atomic file
// that was not closed is lost.
class RecordWriter {
 public:
  // `file_system` must outlive the writer. Errors: those of creating the file.
  RecordWriter(FileSystem& file_system, const std::string& path, RecordWriterOptions options = {});
  // Appends to `file`, which must outlive the writer and which the caller closes. `path` is for
  // messages. Ignores options.atomic.
  RecordWriter(WritableFile& file, const std::string& path, RecordWriterOptions options = {});

  void write(std::string_view record);
  // Makes the records readable (not with `atomic`) and durable.
  void flush() { stream_->flush(); }
  void sync() { stream_->sync(); }
  void close();

  int64_t records() const { return records_; }
  // Returns the bytes written, before compression.
  uint64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<AtomicFile> atomic_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<WritableFile> stream_;  // writes to one of the two above, or to the caller's file
  int64_t records_ = 0;
  uint64_t bytes_ = 0;
  bool closed_ = false;
};

using TFRecordWriter = RecordWriter;
using TFRecordOptions = RecordWriterOptions;

// Returns the compression of a record file, from its first bytes.
Compression sniff_record_compression(const RandomAccessFile& file);

}  // namespace systole
