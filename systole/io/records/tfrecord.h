// TFRecord files, as TensorFlow writes and reads them. The byte grammar stands in
// tfrecord_format.h.
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
  // Read from the file at a time; a larger record gets a buffer of its size.
  size_t buffer_bytes = 256U << 10U;
  // A longer record is refused before memory is asked for. (A message of protobuf has at most 2
  // GB.)
  uint64_t max_record_bytes = uint64_t{1} << 31U;
};

// Reads record after record and checks both checksums of each. Memory: one buffer. Not thread-safe.
class RecordReader {
 public:
  // Errors: those of opening the file.
  RecordReader(FileSystem& file_system, const std::string& path, RecordReaderOptions options = {});
  explicit RecordReader(std::unique_ptr<RandomAccessFile> file, RecordReaderOptions options = {});

  // The next record, valid until the next call; nothing at the end of the file. (Where a file
  // grows, a later call finds what was added.) Errors: those of the file; DATA_LOSS, with the
  // offset of the record, for one that is cut, has a wrong checksum, or a length that the file does
  // not have; RESOURCE_EXHAUSTED beyond max_record_bytes. After an error offset() still is that of
  // the record that could not be read.
  std::optional<std::string_view> next();
  // After an error: passes over the record whose data failed its checksum. Its length did not, so
  // that the next one's place is known. False, and nothing is passed over, after any other error.
  bool skip_damaged();

  // Where the next record begins, in uncompressed bytes: what seek() of a later reader takes.
  uint64_t offset() const { return offset_; }
  // Goes to a record that offset() told. Errors: OUT_OF_RANGE when the file ends before. An offset
  // inside a record is found by the checksum of what is taken for its length.
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
  uint64_t known_length_ = 0;  // with its checksum, which was right
  uint32_t known_length_crc_;
  uint64_t damaged_bytes_ = 0;  // of the record whose data failed its checksum
};

struct RecordWriterOptions {
  Compression compression = Compression::none;
  int compression_level = -1;  // zlib's: 0 to 9; -1: its default
  // The file appears under its name when close() returns, complete, or not at all. Else it is
  // there, and grows, from the start.
  bool atomic = true;
};

// Writes record after record. Not thread-safe. The destructor does not close: what was written
// atomically and not closed is gone.
class RecordWriter {
 public:
  // `file_system` outlives the writer. Errors: those of creating the file.
  RecordWriter(FileSystem& file_system, const std::string& path, RecordWriterOptions options = {});
  // Appends to `file`, which outlives the writer and which the caller closes. `path` is for
  // messages; options.atomic is the caller's to care for.
  RecordWriter(WritableFile& file, const std::string& path, RecordWriterOptions options = {});

  void write(std::string_view record);
  // Makes what was written readable (not with `atomic`), and lasting.
  void flush() { stream_->flush(); }
  void sync() { stream_->sync(); }
  void close();

  int64_t records() const { return records_; }
  // Bytes of the file so far, before compression.
  uint64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<AtomicFile> atomic_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<WritableFile> stream_;  // into one of the two above, or into the caller's
  int64_t records_ = 0;
  uint64_t bytes_ = 0;
  bool closed_ = false;
};

using TFRecordWriter = RecordWriter;
using TFRecordOptions = RecordWriterOptions;

// How the records of a file are compressed, from its first bytes.
Compression sniff_record_compression(const RandomAccessFile& file);

}  // namespace systole
