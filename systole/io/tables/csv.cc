#include "systole/io/tables/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "systole/base/suggest.h"

namespace systole {
namespace {

constexpr int kEnd = -1;
constexpr size_t kMaxFields = size_t{1} << 20;

std::string shown(int c) {
  if (c == kEnd) return "the end of the file";
  if (c == '\n' || c == '\r') return "the end of the line";
  return c < 0x20 || c >= 0x7f ? fmt::format("byte {:#04x}", c)
                               : fmt::format("'{}'", static_cast<char>(c));
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<RandomAccessFile> file, CsvOptions options)
    : CsvReader(open_source(std::move(file), Compression::none), options) {}

CsvReader::CsvReader(std::unique_ptr<ByteSource> source, CsvOptions options, size_t buffer_bytes)
    : source_(std::move(source)), options_(options), buffer_bytes_(buffer_bytes) {
  const char delimiter = options_.delimiter;
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r') {
    throw invalid_argument("{}: delimiter, got {}, expected neither a quote nor a line end", path(),
                           shown(delimiter));
  }
  (void)peek();
  if (buffer_.starts_with("\xEF\xBB\xBF")) next_ = 3;
  if (!options_.header) return;

  CsvRecord record;
  if (!next(record)) {
    throw invalid_argument("{}: header, got an empty file, expected the names of the columns",
                           path());
  }
  for (size_t i = 0; i < record.size(); ++i) {
    if (std::ranges::find(header_, record[i]) != header_.end()) {
      throw invalid_argument("{}: column name, got '{}' twice, expected different names",
                             place(record, i), record[i]);
    }
    header_.emplace_back(record[i]);
  }
}

std::string CsvReader::place_at(int64_t line, int64_t column) const {
  return fmt::format("{}:{}:{}", path(), line, column);
}

std::string CsvReader::place(const CsvRecord& record, size_t i) const {
  return place_at(record.field_line(i), record.field_column(i));
}

std::string CsvReader::place(const CsvRecord& record) const {
  return fmt::format("{}:{}", path(), record.line());
}

size_t CsvReader::column_index(std::string_view name) const {
  const auto it = std::ranges::find(header_, name);
  if (it == header_.end()) {
    throw not_found("{}: column, got '{}', expected one of '{}'{}", path(), name,
                    fmt::join(header_, "', '"), did_you_mean(name, header_));
  }
  return static_cast<size_t>(it - header_.begin());
}

int CsvReader::peek() {
  if (next_ == buffer_.size()) {
    buffer_.resize(buffer_bytes_);
    next_ = buffer_bytes_;  // nothing is in it when reading fails
    buffer_.resize(source_->read(buffer_bytes_, buffer_.data()));
    next_ = 0;
    if (buffer_.empty()) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[next_]);
}

int CsvReader::get() {
  const int c = peek();
  if (c == kEnd) return c;
  ++next_;
  ++column_;
  if (c == '\n') {
    ++line_;
    column_ = 1;
  }
  return c;
}

bool CsvReader::read_line_end() {
  if (peek() == '\r') {
    const int64_t line = line_;
    const int64_t column = column_;
    (void)get();
    if (peek() != '\n') {
      throw invalid_argument("{}: carriage return, got {} after it, expected a line feed",
                             place_at(line, column), shown(peek()));
    }
  }
  if (peek() != '\n') return false;
  (void)get();
  return true;
}

bool CsvReader::skip_blank_lines() {
  if (options_.skip_blank_lines) {
    while (read_line_end()) {
    }
  }
  return peek() != kEnd;
}

bool CsvReader::next(CsvRecord& record) {
  record.text_.clear();
  record.fields_.clear();
  at_record_ = false;
  try {
    if (!skip_blank_lines()) return false;
    read_fields(record);
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument) skip_line();
    throw;
  }
  at_record_ = true;
  check_width(record);
  return true;
}

void CsvReader::read_fields(CsvRecord& record) {
  record.line_ = line_;
  while (true) {
    read_field(record);
    if (peek() != static_cast<unsigned char>(options_.delimiter)) break;
    (void)get();
  }
  (void)read_line_end();
}

void CsvReader::skip_line() {
  for (int c = get(); c != kEnd && c != '\n'; c = get()) {
  }
  at_record_ = true;
}

void CsvReader::check_width(const CsvRecord& record) {
  if (!options_.same_width) return;
  if (width_ == 0) width_ = record.size();
  if (record.size() != width_) {
    throw invalid_argument("{}: number of fields, got {}, expected {}", place(record),
                           record.size(), width_);
  }
}

void CsvReader::read_field(CsvRecord& record) {
  if (record.fields_.size() >= kMaxFields) {
    throw make_error(Code::resource_exhausted,
                     "{}: fields of a record, got more than {}, expected fewer", place(record),
                     kMaxFields);
  }
  const size_t begin = record.text_.size();
  record.fields_.push_back({.begin = begin, .size = 0, .line = line_, .column = column_});
  if (options_.quotes && peek() == '"') {
    read_quoted(record);
  } else {
    read_plain(record);
  }
  record.fields_.back().size = record.text_.size() - begin;
}

void CsvReader::keep(CsvRecord& record, int c) const {
  if (record.text_.size() >= options_.max_record_bytes) {
    throw make_error(
        Code::resource_exhausted,
        "{}: bytes of a record, got more than {}, expected fewer (is a quote left open?)",
        place(record), options_.max_record_bytes);
  }
  record.text_ += static_cast<char>(c);
}

void CsvReader::read_quoted(CsvRecord& record) {
  const CsvRecord::Field& field = record.fields_.back();
  (void)get();
  while (true) {
    const int c = get();
    if (c == kEnd) {
      throw invalid_argument("{}: quoted field, got the end of the file, expected a closing quote",
                             place_at(field.line, field.column));
    }
    if (c == '"') {
      if (peek() != '"') break;
      (void)get();
    }
    keep(record, c);
  }
  const int after = peek();
  if (after != kEnd && after != '\n' && after != '\r' &&
      after != static_cast<unsigned char>(options_.delimiter)) {
    throw invalid_argument(
        "{}: closing quote, got {} after it, expected '{}' or the end of the line",
        place_at(line_, column_), shown(after), options_.delimiter);
  }
}

void CsvReader::read_plain(CsvRecord& record) {
  while (true) {
    const int c = peek();
    if (c == kEnd || c == '\n' || c == '\r' ||
        c == static_cast<unsigned char>(options_.delimiter)) {
      return;
    }
    if (options_.quotes && c == '"') {
      throw invalid_argument("{}: field, got a quote inside it, expected quotes around the field",
                             place_at(line_, column_));
    }
    keep(record, get());
  }
}

}  // namespace systole
