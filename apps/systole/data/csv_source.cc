// Tables: a feature for each column.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/systole/data/example_source.h"
#include "systole/base/counted.h"
#include "systole/base/escape.h"
#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/base/text.h"
#include "systole/io/tables/csv.h"
#include "systole/io/wire/crc32c.h"

namespace systole::app {
namespace {

enum class ColumnKind { empty, int64, number, text };

bool is_digits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

ColumnKind kind_of(std::string_view field) {
  const std::string_view text = without_blanks(field);
  if (text.empty()) return ColumnKind::empty;
  if (parse_number<int64_t>(text)) return ColumnKind::int64;
  if (is_digits(text))
    return ColumnKind::text;  // of too many digits for int64, an id: all are kept
  return parse_number<float>(text, TooLarge::none) ? ColumnKind::number : ColumnKind::text;
}

// What the fields of a column are.
struct Column {
  ColumnKind kind = ColumnKind::empty;
  int64_t numbers = 0;  // fields
  int64_t texts = 0;
  std::string first_text;
  std::string place;  // of it
  bool alike = true;  // no text is another
  bool large = true;  // each text is a number that is too large

  void add_text(std::string_view text, const CsvReader& reader, const CsvRecord& record, size_t i) {
    if (texts++ == 0) {
      first_text = text;
      place = reader.place(record, i);
    }
    alike = alike && text == first_text;
    large = large && parse_number<float>(text, TooLarge::infinite);
  }
  void add(const CsvReader& reader, const CsvRecord& record, size_t i) {
    const ColumnKind of_field = kind_of(record[i]);
    kind = std::max(kind, of_field);
    if (of_field == ColumnKind::text) {
      add_text(without_blanks(record[i]), reader, record, i);
    } else if (of_field != ColumnKind::empty) {
      ++numbers;
    }
  }
  void add(const Column& other) {
    kind = std::max(kind, other.kind);
    numbers += other.numbers;
    alike =
        alike && other.alike && (texts == 0 || other.texts == 0 || first_text == other.first_text);
    large = large && other.large;
    if (texts == 0) {
      first_text = other.first_text;
      place = other.place;
    }
    texts += other.texts;
  }
};
using Columns = std::map<std::string, Column>;

// A few fields, all for one reason, have made texts of what would be numbers.
void tell_of_texts_among_numbers(const Columns& columns) {
  constexpr size_t kMaxShown = 40;
  for (const auto& [name, column] : columns) {
    if (column.texts == 0 || column.numbers == 0 || !(column.alike || column.large)) continue;
    log_warning(
        "{}: column '{}' becomes bytes, got '{}'{}, expected {} as in {}", column.place,
        escaped(name), escaped(column.first_text.substr(0, kMaxShown)),
        column.texts == 1 ? "" : fmt::format(" ({} like it)", counted(column.texts, "field")),
        column.large ? "numbers that int64 or float holds" : "numbers",
        counted(column.numbers, "other field"));
  }
}

class CsvSource final : public ExampleSource {
 public:
  CsvSource(FileSystem& fs, std::string path, CsvOptions csv)
      : fs_(fs), path_(std::move(path)), csv_(csv) {
    rewind();
    names_ = reader_->header();
    tell_of_numbers_as_names();
    columns_.resize(names_.size());
    while (reader_->next(record_)) {
      columns_.resize(record_.size());
      for (size_t i = 0; i < record_.size(); ++i) columns_[i].add(*reader_, record_, i);
      ++size_;
    }
    for (size_t i = names_.size(); i < columns_.size(); ++i) {
      names_.push_back(fmt::format("column_{}", i));
    }
    rewind();
  }

  // Columns of one name are of one kind in all files.
  void add_columns_to(Columns& all) const {
    for (size_t i = 0; i < columns_.size(); ++i) all[names_[i]].add(columns_[i]);
  }
  void take_kinds_of(const Columns& all) {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].kind = all.at(names_[i]).kind;
  }

  int64_t size() const override { return size_; }
  std::string identity() const override {
    uint32_t kinds = 0;
    for (const Column& column : columns_) {
      kinds = crc32c(fmt::format("{};", static_cast<int>(column.kind)), kinds);
    }
    return fmt::format("{} header {} delimiter '{}' types {:08x}", file_identity(fs_, path_),
                       csv_.header, csv_.delimiter, kinds);
  }

  void read(int64_t index, ExampleBuilder& out) override {
    if (index < next_) rewind();
    for (; next_ <= index; ++next_) {
      if (!reader_->next(record_)) {
        throw make_error(Code::data_loss, "{}: records, got {}, expected {}: it has changed", path_,
                         next_, size_);
      }
    }
    for (size_t i = 0; i < std::min(record_.size(), columns_.size()); ++i) add(i, out);
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
    reader_ = std::make_unique<CsvReader>(open_unzipped(fs_, path_), csv_);
    next_ = 0;
  }

  void add(size_t column, ExampleBuilder& out) const {
    const std::string_view text = without_blanks(record_[column]);
    const ColumnKind kind = columns_[column].kind;
    if (text.empty() && kind != ColumnKind::text) return;
    const auto integer = kind == ColumnKind::int64 ? parse_number<int64_t>(text) : std::nullopt;
    const auto number =
        kind == ColumnKind::number ? parse_number<float>(text, TooLarge::none) : std::nullopt;
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
  std::vector<Column> columns_;
  int64_t size_ = 0;
  int64_t next_ = 0;  // the record that the reader gives next
};

}  // namespace

std::vector<Split> csv_splits(FileSystem& fs, const SourceOptions& options) {
  if (options.inputs.empty()) (void)single_input(options, "csv");
  const CsvOptions csv = {.header = options.csv_header, .delimiter = options.csv_delimiter};
  std::vector<std::unique_ptr<CsvSource>> sources;
  Columns columns;
  for (const std::string& path : options.inputs) {
    sources.push_back(std::make_unique<CsvSource>(fs, path, csv));
    sources.back()->add_columns_to(columns);
  }
  tell_of_texts_among_numbers(columns);
  std::vector<Split> splits;
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i]->take_kinds_of(columns);
    splits.push_back({name_of_file(options.inputs[i]), std::move(sources[i]), {}});
  }
  check_split_names("csv", splits);
  return splits;
}

}  // namespace systole::app
