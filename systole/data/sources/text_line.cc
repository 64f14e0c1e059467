#include "systole/data/sources/byte_window.h"
#include "systole/data/sources/record_file.h"

namespace systole {
namespace {

constexpr size_t kLongestLine = size_t{1} << 30;

class TextFile final : public data::RecordFile {
 public:
  TextFile(std::unique_ptr<ByteSource> source, size_t buffer_bytes)
      : window_(std::move(source), buffer_bytes) {}

  bool next(Components& row) override {
    size_t end = std::string::npos;
    size_t searched = 0;
    while ((end = window_.bytes().find('\n', searched)) == std::string::npos) {
      searched = window_.bytes().size();
      check_length(searched);
      if (!window_.fill()) break;
    }
    const std::string_view bytes = window_.bytes();
    if (end == std::string::npos && bytes.empty()) return false;
    std::string_view line = bytes.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    data::assign_text(row, line);
    window_.take(end == std::string::npos ? bytes.size() : end + 1);
    return true;
  }
  uint64_t offset() const override { return window_.offset(); }
  void seek(uint64_t offset) override { window_.seek(offset); }

 private:
  void check_length(size_t bytes) const {
    if (bytes <= kLongestLine) return;
    throw make_error(Code::resource_exhausted,
                     "{}: line at byte {}, got more than {} bytes, expected a shorter one",
                     window_.path(), offset(), kLongestLine);
  }

  data::ByteWindow window_;
};

Dataset::NodePtr text_line_node(const FileNames& files, const TextLineDatasetOptions& options) {
  const Compression compression = compression_from_tf(options.compression_type);
  const size_t buffer = data::checked_buffer_size("TextLineDataset", options.buffer_size);
  FileSystem& file_system = file_system_or_default(options.file_system);
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
