#include "systole/io/csv.h"

#include "systole/data/sources/record_file.h"

namespace systole {
namespace {

struct Columns {
  std::vector<Tensor> defaults;
  std::vector<size_t> selected;
};

class CsvFile final : public data::RecordFile {
 public:
  CsvFile(std::unique_ptr<RandomAccessFile> file, const CsvOptions& options, Columns columns)
      : reader_(std::move(file), options), columns_(std::move(columns)) {}

  bool next(Row& row) override {
    readable_ = false;
    if (!reader_.next(record_)) return false;
    readable_ = true;
    ++records_;
    row.clear();
    for (size_t i = 0; i < columns_.defaults.size(); ++i) row.push_back(value(i));
    return true;
  }
  uint64_t offset() const override { return records_; }
  void seek(uint64_t offset) override {
    while (records_ < offset && reader_.next(record_)) ++records_;
  }
  bool can_skip() const override { return readable_; }

 private:
  Tensor value(size_t i) {
    const size_t column = columns_.selected.empty() ? i : columns_.selected[i];
    if (column >= record_.size()) {
      throw invalid_argument("{}:{}: columns, got {}, expected at least {}", reader_.path(),
                             record_.line(), record_.size(), column + 1);
    }
    const Tensor& fallback = columns_.defaults[i];
    if (record_[column].empty()) {
      if (fallback.num_elements() == 1) return fallback.reshape({});
      if (fallback.dtype() != DType::string) {
        throw invalid_argument("{}:{}:{}: field, got none, expected a value: it has no default",
                               reader_.path(), record_.field_line(column),
                               record_.field_column(column));
      }
    }
    Tensor result(fallback.dtype(), {});
    reader_.parse(record_, column, result, 0);
    return result;
  }

  CsvReader reader_;
  Columns columns_;
  CsvRecord record_;
  uint64_t records_ = 0;
  bool readable_ = true;  // false after a text that breaks the grammar
};

Dataset::NodePtr csv_node(const FileNames& files, const std::vector<Tensor>& record_defaults,
                          const CsvDatasetOptions& options) {
  if (record_defaults.empty()) {
    throw invalid_argument("CsvDataset: record_defaults, got none, expected one a column");
  }
  if (!options.select_cols.empty() && options.select_cols.size() != record_defaults.size()) {
    throw invalid_argument("CsvDataset: select_cols, got {}, expected {}, one a default",
                           options.select_cols.size(), record_defaults.size());
  }
  std::vector<data::Spec> types;
  for (const Tensor& value : record_defaults) {
    if (value.num_elements() > 1) {
      throw invalid_argument("CsvDataset: record default, got {}, expected at most one element",
                             value.type());
    }
    types.emplace_back(TensorType{value.dtype(), {}});
  }
  const CsvOptions reading{.header = options.header, .delimiter = options.field_delim};
  const Columns columns{.defaults = record_defaults, .selected = options.select_cols};
  FileSystem& file_system = data::file_system_or_local(options.file_system);
  return data::record_files_node(
      "CsvDataset", files.dataset().node(), data::Spec::tuple(std::move(types)),
      [=, &file_system](const std::string& path) {
        return std::make_unique<CsvFile>(file_system.open(path), reading, columns);
      });
}

}  // namespace

CsvDataset::CsvDataset(const FileNames& files, const std::vector<Tensor>& record_defaults,
                       const CsvDatasetOptions& options)
    : Dataset(csv_node(files, record_defaults, options)) {}

}  // namespace systole
