#include <array>
#include <cstring>

#include "systole/io/records/tfrecord.h"
#include "systole/io/records/tfrecord_format.h"
#include "systole/io/wire/crc32c.h"

namespace systole {

RecordWriter::RecordWriter(FileSystem& file_system, const std::string& path,
                           RecordWriterOptions options) {
  if (options.atomic) {
    atomic_ = std::make_unique<AtomicFile>(file_system, path);
  } else {
    file_ = file_system.create(path);
  }
  WritableFile& file = options.atomic ? atomic_->file() : *file_;
  stream_ = compress_into(file, options.compression, path, options.compression_level);
}

RecordWriter::RecordWriter(WritableFile& file, const std::string& path, RecordWriterOptions options)
    : stream_(compress_into(file, options.compression, path, options.compression_level)) {}

void RecordWriter::write(std::string_view record) {
  std::array<char, kRecordHeaderBytes> header{};
  const uint64_t length = record.size();
  std::memcpy(header.data(), &length, sizeof(length));
  const uint32_t length_crc = mask_crc32c(crc32c({header.data(), sizeof(length)}));
  std::memcpy(header.data() + kRecordLengthBytes, &length_crc, sizeof(length_crc));
  const uint32_t data_crc = mask_crc32c(crc32c(record));
  std::array<char, kRecordFooterBytes> footer{};
  std::memcpy(footer.data(), &data_crc, sizeof(data_crc));

  stream_->append({header.data(), header.size()});
  stream_->append(record);
  stream_->append({footer.data(), footer.size()});
  ++records_;
  bytes_ += header.size() + record.size() + footer.size();
}

void RecordWriter::close() {
  if (closed_) return;
  stream_->close();
  if (atomic_ != nullptr) atomic_->commit();
  if (file_ != nullptr) file_->close();
  closed_ = true;
}

}  // namespace systole
