#include "systole/io/records/tfrecord.h"

#include "systole/data/sources/record_file.h"

namespace systole {
namespace {

class TFRecordFile final : public data::RecordFile {
 public:
  TFRecordFile(FileSystem& file_system, const std::string& path, const RecordReaderOptions& options)
      : reader_(file_system, path, options) {}
  bool next(Components& row) override {
    std::string_view text;
    if (!next_text(text)) return false;
    data::assign_text(row, text);
    return true;
  }
  bool next_text(std::string_view& text) override {
    passed_over_ = false;
    try {
      const auto record = reader_.next();
      if (record) text = *record;
      return record.has_value();
    } catch (const Error&) {
      passed_over_ = reader_.skip_damaged();
      throw;
    }
  }
  uint64_t offset() const override { return reader_.offset(); }
  void seek(uint64_t offset) override { reader_.seek(offset); }
  bool can_skip() const override { return passed_over_; }

 private:
  RecordReader reader_;
  bool passed_over_ = false;  // the record that failed
};

Dataset tfrecord_dataset(const FileNames& files, const TFRecordDatasetOptions& options) {
  if (options.num_parallel_reads < AUTOTUNE) {
    throw invalid_argument(
        "TFRecordDataset: num_parallel_reads, got {}, expected 0 or more, or AUTOTUNE",
        options.num_parallel_reads);
  }
  RecordReaderOptions reading;
  reading.compression = compression_from_tf(options.compression_type);
  reading.buffer_bytes = data::checked_buffer_size("TFRecordDataset", options.buffer_size);
  FileSystem& file_system = file_system_or_default(options.file_system);
  const auto records = [reading, &file_system](const Dataset& names) {
    return Dataset(data::record_files_node("TFRecordDataset", names.node(), data::text_spec(),
                                           [reading, &file_system](const std::string& path) {
                                             return std::make_unique<TFRecordFile>(file_system,
                                                                                   path, reading);
                                           }));
  };
  if (options.num_parallel_reads == 0) return records(files.dataset());
  return files.dataset().interleave(
      records,
      {.cycle_length = options.num_parallel_reads == AUTOTUNE ? 4 : options.num_parallel_reads,
       .num_parallel_calls = options.num_parallel_reads});
}

}  // namespace

TFRecordDataset::TFRecordDataset(const FileNames& files, const TFRecordDatasetOptions& options)
    : Dataset(tfrecord_dataset(files, options)) {}

}  // namespace systole
