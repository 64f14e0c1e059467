#include <cstring>

#include "systole/data/sources/record_file.h"
#include "systole/io/compression.h"

namespace systole {
namespace {

constexpr size_t kLongestLine = size_t{1} << 30;

class TextFile final : public data::RecordFile {
 public:
  TextFile(std::unique_ptr<ByteSource> source, size_t buffer_bytes)
      : source_(std::move(source)), chunk_(buffer_bytes) {}

  bool next(Row& row) override {
    size_t end = std::string::npos;
    size_t searched = begin_;
    while ((end = buffer_.find('\n', searched)) == std::string::npos) {
      searched = buffer_.size() - begin_;
      if (!fill()) break;
    }
    if (end == std::string::npos && begin_ == buffer_.size()) return false;
    const size_t after = end == std::string::npos ? buffer_.size() : end + 1;
    std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    data::assign_text(row, line);
    begin_ = after;
    return true;
  }
  uint64_t offset() const override { return buffer_offset_ + begin_; }
  void seek(uint64_t offset) override {
    source_->seek(offset);
    buffer_.clear();
    buffer_offset_ = offset;
    begin_ = 0;
  }

 private:
  // Drops what is consumed and reads on; false at the end of the file.
  bool fill() {
    buffer_offset_ += begin_;
    buffer_.erase(0, begin_);
    begin_ = 0;
    const size_t had = buffer_.size();
    if (had > kLongestLine) {
      throw make_error(Code::resource_exhausted,
                       "{}: line at byte {}, got more than {} bytes, expected a shorter one",
                       source_->path(), buffer_offset_, kLongestLine);
    }
    buffer_.resize(had + chunk_);
    buffer_.resize(had + source_->read(chunk_, buffer_.data() + had));
    return buffer_.size() > had;
  }

  std::unique_ptr<ByteSource> source_;
  const size_t chunk_;
  std::string buffer_;
  uint64_t buffer_offset_ = 0;  // of buffer_ in the file
  size_t begin_ = 0;            // of the next line in buffer_
};

Dataset::NodePtr text_line_node(const FileNames& files, const TextLineDatasetOptions& options) {
  const Compression compression = compression_from_tf(options.compression_type);
  const size_t buffer = data::checked_buffer_size("TextLineDataset", options.buffer_size);
  FileSystem& file_system = data::file_system_or_local(options.file_system);
  return data::record_files_node("TextLineDataset", files.dataset().node(), data::text_spec(),
                                 [compression, buffer, &file_system](const std::string& path) {
                                   return std::make_unique<TextFile>(
                                       open_source(file_system.open(path), compression), buffer);
                                 });
}

}  // namespace

TextLineDataset::TextLineDataset(const FileNames& files, const TextLineDatasetOptions& options)
    : Dataset(text_line_node(files, options)) {}

}  // namespace systole
