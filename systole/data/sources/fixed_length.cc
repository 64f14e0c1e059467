#include "systole/data/sources/byte_window.h"
#include "systole/data/sources/record_file.h"

namespace systole {
namespace {

struct Layout {
  size_t header = 0;
  size_t record = 0;
  size_t footer = 0;
};

// Holds back as many bytes as the footer has, so that the size of the stream need not be known.
class FixedLengthFile final : public data::RecordFile {
 public:
  FixedLengthFile(std::unique_ptr<ByteSource> source, Layout layout, size_t buffer_bytes)
      : layout_(layout),
        window_(std::move(source), std::max(buffer_bytes, layout.record + layout.footer)) {
    skip_header();
  }

  bool next(Components& row) override {
    const size_t needed = layout_.record + layout_.footer;
    while (window_.bytes().size() < needed && window_.fill()) {
    }
    const size_t left = window_.bytes().size();
    if (left < needed) {
      if (left == layout_.footer) return false;
      throw make_error(
          Code::data_loss,
          "{}: record at byte {}, got {} bytes to the end, expected records of {} and a footer "
          "of {}",
          window_.path(), offset(), left, layout_.record, layout_.footer);
    }
    data::assign_text(row, window_.bytes().substr(0, layout_.record));
    window_.take(layout_.record);
    return true;
  }
  uint64_t offset() const override { return window_.offset(); }
  void seek(uint64_t offset) override { window_.seek(offset); }

 private:
  // Reads the header rather than seeks: a file that ends inside it is damaged.
  void skip_header() {
    for (size_t left = layout_.header; left > 0;) {
      const size_t there = std::min(left, window_.bytes().size());
      window_.take(there);
      left -= there;
      if (left > 0 && !window_.fill()) {
        throw make_error(Code::data_loss, "{}: header, got {} bytes to the end, expected {}",
                         window_.path(), layout_.header - left, layout_.header);
      }
    }
  }

  const Layout layout_;
  data::ByteWindow window_;
};

Dataset::NodePtr fixed_length_node(const FileNames& files, int64_t record_bytes,
                                   const FixedLengthRecordDatasetOptions& options) {
  constexpr int64_t most = int64_t{1} << 31;
  if (record_bytes <= 0 || record_bytes > most) {
    throw invalid_argument("FixedLengthRecordDataset: record_bytes, got {}, expected 1 to {}",
                           record_bytes, most);
  }
  if (options.header_bytes < 0 || options.footer_bytes < 0 || options.footer_bytes > most) {
    throw invalid_argument(
        "FixedLengthRecordDataset: header_bytes and footer_bytes, got {} and {}, expected none "
        "below 0",
        options.header_bytes, options.footer_bytes);
  }
  const Layout layout{.header = static_cast<size_t>(options.header_bytes),
                      .record = static_cast<size_t>(record_bytes),
                      .footer = static_cast<size_t>(options.footer_bytes)};
  const Compression compression = compression_from_tf(options.compression_type);
  const size_t buffer = data::checked_buffer_size("FixedLengthRecordDataset", options.buffer_size);
  FileSystem& file_system = file_system_or_default(options.file_system);
  return data::record_files_node("FixedLengthRecordDataset", files.dataset().node(),
                                 data::text_spec(), [=, &file_system](const std::string& path) {
                                   return std::make_unique<FixedLengthFile>(
                                       open_source(file_system.open(path), compression), layout,
                                       buffer);
                                 });
}

}  // namespace

FixedLengthRecordDataset::FixedLengthRecordDataset(const FileNames& files, int64_t record_bytes,
                                                   const FixedLengthRecordDatasetOptions& options)
    : Dataset(fixed_length_node(files, record_bytes, options)) {}

}  // namespace systole
