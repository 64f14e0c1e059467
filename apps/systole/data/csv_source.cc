// Tables: a feature for each column.
#include <fmt/format.h>

#include <algorithm>

#include "apps/systole/data/example_source.h"
#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/io/csv.h"

namespace systole::app {
namespace {

// What all fields of a column seen so far are.
enum class ColumnKind { empty, int64, number, text };

std::string_view trimmed(std::string_view field) {
  const size_t begin = field.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return field.substr(begin, field.find_last_not_of(" \t") - begin + 1);
}

bool is_digits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

ColumnKind kind_of(std::string_view field) {
  const std::string_view text = trimmed(field);
  if (text.empty()) return ColumnKind::empty;
  if (parse_number<int64_t>(text)) return ColumnKind::int64;
  if (is_digits(text))
    return ColumnKind::text;  // of too many digits for int64, an id: all are kept
  return parse_number<float>(text, TooLarge::none) ? ColumnKind::number : ColumnKind::text;
}

class CsvSource final : public ExampleSource {
 public:
  CsvSource(FileSystem& fs, std::string path, CsvOptions csv)
      : fs_(fs), path_(std::move(path)), csv_(csv) {
    rewind();
    names_ = reader_->header();
    tell_of_numbers_as_names();
    while (reader_->next(record_)) {
      kinds_.resize(record_.size(), ColumnKind::empty);
      for (size_t i = 0; i < record_.size(); ++i) {
        kinds_[i] = std::max(kinds_[i], kind_of(record_[i]));
      }
      ++size_;
    }
    for (size_t i = names_.size(); i < kinds_.size(); ++i) {
      names_.push_back(fmt::format("column_{}", i));
    }
    rewind();
  }

  int64_t size() const override { return size_; }
  std::string identity() const override {
    return fmt::format("{} header {} delimiter '{}'", file_identity(fs_, path_), csv_.header,
                       csv_.delimiter);
  }

  void read(int64_t index, ExampleBuilder& out) override {
    if (index < next_) rewind();
    for (; next_ <= index; ++next_) {
      if (!reader_->next(record_)) {
        throw make_error(Code::data_loss, "{}: records, got {}, expected {}: it has changed", path_,
                         next_, size_);
      }
    }
    for (size_t i = 0; i < std::min(record_.size(), kinds_.size()); ++i) add(i, out);
  }

 private:
  void tell_of_numbers_as_names() const {
    const auto is_number = [](const std::string& name) {
      const ColumnKind kind = kind_of(name);
      return kind == ColumnKind::int64 || kind == ColumnKind::number;
    };
    if (names_.empty() || !std::ranges::all_of(names_, is_number)) return;
    log_warning(
        "{}: names of columns in the first line, got numbers ('{}'), expected words; "
        "--no-header takes the line as data",
        path_, names_[0]);
  }
  void rewind() {
    reader_ = std::make_unique<CsvReader>(fs_.open(path_), csv_);
    next_ = 0;
  }

  void add(size_t column, ExampleBuilder& out) const {
    const std::string_view text = trimmed(record_[column]);
    if (text.empty() && kinds_[column] != ColumnKind::text) return;
    const auto integer =
        kinds_[column] == ColumnKind::int64 ? parse_number<int64_t>(text) : std::nullopt;
    const auto number = kinds_[column] == ColumnKind::number
                            ? parse_number<float>(text, TooLarge::none)
                            : std::nullopt;
    if (integer) {
      out.int64(names_[column], *integer);
    } else if (number) {
      out.float32(names_[column], *number);
    } else {
      out.bytes(names_[column], record_[column]);
    }
  }

  FileSystem& fs_;
  std::string path_;
  CsvOptions csv_;
  std::unique_ptr<CsvReader> reader_;
  CsvRecord record_;
  std::vector<std::string> names_;
  std::vector<ColumnKind> kinds_;
  int64_t size_ = 0;
  int64_t next_ = 0;  // the record that the reader gives next
};

}  // namespace

std::vector<Split> csv_splits(FileSystem& fs, const SourceOptions& options) {
  if (options.inputs.empty()) (void)single_input(options, "csv");
  std::vector<Split> splits;
  for (const std::string& path : options.inputs) {
    const std::string file = base_name(path);
    splits.push_back({file.substr(0, file.rfind('.')),
                      std::make_unique<CsvSource>(fs, path,
                                                  CsvOptions{.header = options.csv_header,
                                                             .delimiter = options.csv_delimiter}),
                      {}});
  }
  check_split_names("csv", splits);
  return splits;
}

}  // namespace systole::app
