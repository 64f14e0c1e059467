#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "systole/io/records/tfrecord.h"
#include "systole/io/records/tfrecord_format.h"
#include "systole/io/wire/crc32c.h"

namespace systole {
namespace {

template <class T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

uint32_t masked_crc(const char* bytes, size_t size) { return mask_crc32c(crc32c({bytes, size})); }

}  // namespace

RecordReader::RecordReader(FileSystem& file_system, const std::string& path,
                           RecordReaderOptions options)
    : RecordReader(file_system.open(path), options) {}

RecordReader::RecordReader(std::unique_ptr<RandomAccessFile> file, RecordReaderOptions options)
    : source_(open_source(std::move(file), options.compression, options.buffer_bytes)),
      options_(options),
      capacity_(std::max<size_t>(options.buffer_bytes, 4096)),
      known_length_crc_(mask_crc32c(crc32c(std::string_view("\0\0\0\0\0\0\0\0", 8)))) {
  options_.max_record_bytes = std::min(options_.max_record_bytes, uint64_t{1} << 60U);
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
}

std::optional<std::string_view> RecordReader::next() {
  // Guesses that the next record has the same length as this one, so that reading it need not wait
  // for this length.
  const size_t there = end_ - begin_;
  if (known_length_ <= there && there - known_length_ >= kRecordHeaderBytes + kRecordFooterBytes) {
    const char* const header = buffer_.get() + begin_;
    const char* const data = header + kRecordHeaderBytes;
    const bool known = load<uint64_t>(header) == known_length_ &&
                       load<uint32_t>(header + kRecordLengthBytes) == known_length_crc_;
    if (known && load<uint32_t>(data + known_length_) == masked_crc(data, known_length_)) {
      const size_t total = kRecordHeaderBytes + known_length_ + kRecordFooterBytes;
      begin_ += total;
      offset_ += total;
      return std::string_view(data, known_length_);
    }
  }
  return next_of_any_length();
}

std::optional<std::string_view> RecordReader::next_of_any_length() {
  if (end_ - begin_ < kRecordHeaderBytes && !fill(kRecordHeaderBytes)) {
    if (begin_ == end_) return std::nullopt;
    fail_cut(kRecordHeaderBytes);
  }
  const char* header = buffer_.get() + begin_;
  const auto length = load<uint64_t>(header);
  const auto length_crc = load<uint32_t>(header + kRecordLengthBytes);
  // Equal 12 bytes need no second check.
  if (length != known_length_ || length_crc != known_length_crc_) {
    const uint32_t expected = masked_crc(header, kRecordLengthBytes);
    if (length_crc != expected) fail_length_checksum(length_crc, expected);
    known_length_ = length;
    known_length_crc_ = length_crc;
  }
  if (length > end_ - begin_) check_length(length);

  const size_t total = kRecordHeaderBytes + length + kRecordFooterBytes;
  if (end_ - begin_ < total && !fill(total)) fail_cut(total);
  const char* data = buffer_.get() + begin_ + kRecordHeaderBytes;
  const auto data_crc = load<uint32_t>(data + length);
  const uint32_t expected_data_crc = masked_crc(data, length);
  if (data_crc != expected_data_crc) {
    damaged_bytes_ = total;
    fail_data_checksum(data_crc, expected_data_crc);
  }
  begin_ += total;
  offset_ += total;
  return std::string_view(data, length);
}

void RecordReader::seek(uint64_t offset) {
  const uint64_t read_to = offset_ + (end_ - begin_);
  if (offset >= offset_ && offset <= read_to) {
    begin_ += offset - offset_;
  } else {
    source_->seek(offset);
    begin_ = end_ = 0;
  }
  offset_ = offset;
  damaged_bytes_ = 0;
}

// A length can pass its checksum by chance.
void RecordReader::check_length(uint64_t length) {
  const std::optional<uint64_t> left = source_->left();
  const uint64_t there = left.value_or(0) + (end_ - begin_);
  if (left && (length > there || there - length < kRecordHeaderBytes + kRecordFooterBytes)) {
    throw make_error(Code::data_loss,
                     "{}: record at offset {}, got {} bytes to the end of the file, expected a "
                     "record with {} bytes of data",
                     path(), offset_, there, length);
  }
  if (length > options_.max_record_bytes) {
    throw make_error(Code::resource_exhausted,
                     "{}: record at offset {}, got {} bytes of data, expected at most {}", path(),
                     offset_, length, options_.max_record_bytes);
  }
}

// Reads until `wanted` bytes are in the buffer. Returns false if the file ends before. The buffer
// grows with the bytes read, so that a wrong length allocates nothing.
bool RecordReader::fill(size_t wanted) {
  if (capacity_ - begin_ < wanted || begin_ == end_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < wanted) {
    if (end_ == capacity_) {
      const size_t capacity = std::min(wanted, 4 * capacity_);
      auto larger = std::make_unique_for_overwrite<char[]>(capacity);
      std::memcpy(larger.get(), buffer_.get(), end_);
      buffer_ = std::move(larger);
      capacity_ = capacity;
    }
    const size_t got = source_->read(capacity_ - end_, buffer_.get() + end_);
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

void RecordReader::fail_cut(uint64_t expected) {
  throw make_error(Code::data_loss,
                   "{}: record at offset {}, got {} bytes to the end of the file, expected {}",
                   path(), offset_, end_ - begin_, expected);
}

void RecordReader::fail_length_checksum(uint32_t got, uint32_t expected) {
  throw make_error(Code::data_loss,
                   "{}: checksum of the length of the record at offset {}, got {:#010x}, expected "
                   "{:#010x}; the start of the next record is unknown: the rest of the file is "
                   "lost{}",
                   path(), offset_, got, expected,
                   offset_ == 0 ? " (or this is not a TFRecord file)" : "");
}

void RecordReader::fail_data_checksum(uint32_t got, uint32_t expected) {
  throw make_error(Code::data_loss,
                   "{}: checksum of the data of the record at offset {}, got {:#010x}, expected "
                   "{:#010x} for the bytes that are there",
                   path(), offset_, got, expected);
}

bool RecordReader::skip_damaged() {
  const uint64_t bytes = std::exchange(damaged_bytes_, 0);
  begin_ += bytes;
  offset_ += bytes;
  return bytes > 0;
}

Compression sniff_record_compression(const RandomAccessFile& file) {
  std::array<char, kRecordHeaderBytes> header{};
  if (file.read(0, header.size(), header.data()) == header.size() &&
      load<uint32_t>(header.data() + kRecordLengthBytes) ==
          masked_crc(header.data(), kRecordLengthBytes)) {
    return Compression::none;
  }
  return sniff_compression(file);
}

}  // namespace systole
