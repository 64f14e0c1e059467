#include "systole/io/tables/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "systole/data/sources/record_file.h"

namespace systole {
namespace {

struct Columns {
  std::vector<Tensor> defaults;
  std::vector<size_t> selected;  // empty: all, and records must have no others
  std::string na_value;
};

class CsvFile final : public data::RecordFile {
 public:
  CsvFile(CsvReader reader, Columns columns)
      : reader_(std::move(reader)), columns_(std::move(columns)) {}

  bool next(Components& row) override {
    if (!read()) return false;
    check_width();
    row.clear();
    for (size_t i = 0; i < columns_.defaults.size(); ++i) row.push_back(value(i));
    return true;
  }
  uint64_t offset() const override { return records_; }
  void seek(uint64_t offset) override {
    while (records_ < offset) {
      try {
        if (!read()) return;
      } catch (const Error&) {
        if (!can_skip()) throw;
      }
    }
  }
  bool can_skip() const override { return reader_.at_record(); }

 private:
  // Reads the next record. Counts a malformed record too if others follow it.
  bool read() {
    try {
      if (!reader_.next(record_)) return false;
    } catch (const Error&) {
      if (can_skip()) ++records_;
      throw;
    }
    ++records_;
    return true;
  }

  void check_width() const {
    const bool all = columns_.selected.empty();
    const size_t wanted = all ? columns_.defaults.size() : columns_.selected.back() + 1;
    if (all ? record_.size() == wanted : record_.size() >= wanted) return;
    throw invalid_argument("{}: number of fields, got {}, expected {}{}{}", reader_.place(record_),
                           record_.size(), all ? "" : "at least ", wanted,
                           record_.size() > wanted ? "; select_cols chooses some" : "");
  }

  Tensor value(size_t i) {
    const size_t column = columns_.selected.empty() ? i : columns_.selected[i];
    const Tensor& fallback = columns_.defaults[i];
    if (record_[column].empty() || record_[column] == columns_.na_value) {
      if (fallback.num_elements() == 1) return fallback.reshape({});
      throw invalid_argument("{}: field, got none, expected a value: it has no default",
                             reader_.place(record_, column));
    }
    Tensor result(fallback.dtype(), {});
    reader_.parse(record_, column, result, 0);
    return result;
  }

  CsvReader reader_;
  Columns columns_;
  CsvRecord record_;
  uint64_t records_ = 0;
};

void check_columns(const std::vector<Tensor>& record_defaults, const std::vector<size_t>& columns) {
  if (record_defaults.empty()) {
    throw invalid_argument("CsvDataset: record_defaults, got none, expected one a column");
  }
  for (const Tensor& value : record_defaults) {
    if (value.valid() && value.num_elements() <= 1) continue;
    throw invalid_argument("CsvDataset: record default, got {}, expected at most one element",
                           value.type());
  }
  if (columns.empty()) return;
  if (columns.size() != record_defaults.size()) {
    throw invalid_argument("CsvDataset: select_cols, got {}, expected {}, one a default",
                           columns.size(), record_defaults.size());
  }
  if (std::ranges::adjacent_find(columns, std::ranges::greater_equal()) != columns.end()) {
    throw invalid_argument("CsvDataset: select_cols, got [{}], expected ascending ones",
                           fmt::join(columns, ", "));
  }
}

Dataset::NodePtr csv_node(const FileNames& files, const std::vector<Tensor>& record_defaults,
                          const CsvDatasetOptions& options) {
  check_columns(record_defaults, options.select_cols);
  std::vector<data::Spec> types;
  types.reserve(record_defaults.size());
  for (const Tensor& value : record_defaults) types.emplace_back(TensorType{value.dtype(), {}});
  const CsvOptions reading{.header = options.header,
                           .delimiter = options.field_delim,
                           .quotes = options.use_quote_delim,
                           .same_width = false};
  const Columns columns{
      .defaults = record_defaults, .selected = options.select_cols, .na_value = options.na_value};
  const Compression compression = compression_from_tf(options.compression_type);
  const size_t buffer = data::checked_buffer_size("CsvDataset", options.buffer_size);
  FileSystem& file_system = file_system_or_default(options.file_system);
  return data::record_files_node(
      "CsvDataset", files.dataset().node(), data::Spec::tuple(std::move(types)),
      [=, &file_system](const std::string& path) {
        auto source = open_source(file_system.open(path), compression, buffer);
        return std::make_unique<CsvFile>(CsvReader(std::move(source), reading, buffer), columns);
      });
}

}  // namespace

CsvDataset::CsvDataset(const FileNames& files, const std::vector<Tensor>& record_defaults,
                       const CsvDatasetOptions& options)
    : Dataset(csv_node(files, record_defaults, options)) {}

}  // namespace systole
