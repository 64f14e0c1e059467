// Comma-separated values as RFC 4180 has them:
//   file   := [bom] record (eol record)* [eol]          eol := CR LF | LF
//   record := field (delimiter field)*
//   field  := '"' (any byte but '"' | '""')* '"' | (any byte but '"', delimiter, CR, LF)*
// All records have the same number of fields. Errors in the text are INVALID_ARGUMENT and read
// `<file>:<line>:<column>: <what>, got <value>, expected <value>`; lines and columns (in bytes)
// begin at 1.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/tensor.h"

namespace systole {

struct CsvOptions {
  bool header = true;  // the first record names the columns
  char delimiter = ',';
  bool skip_blank_lines = true;  // else a blank line is a record with one empty field
  size_t max_record_bytes =
      16U << 20U;  // RESOURCE_EXHAUSTED beyond: a quote was left open, most likely
};

// One record. Its storage is used again by the reader's next(): views of fields end there.
class CsvRecord {
 public:
  size_t size() const { return fields_.size(); }
  // A field without its quotes. REQUIRES: i < size().
  std::string_view operator[](size_t i) const {
    return std::string_view(text_).substr(fields_[i].begin, fields_[i].size);
  }
  // Where the record and a field begin.
  int64_t line() const { return line_; }
  int64_t field_line(size_t i) const { return fields_[i].line; }
  int64_t field_column(size_t i) const { return fields_[i].column; }

 private:
  friend class CsvReader;
  struct Field {
    size_t begin = 0;
    size_t size = 0;
    int64_t line = 0;
    int64_t column = 0;
  };
  std::string text_;
  std::vector<Field> fields_;
  int64_t line_ = 0;
};

// Reads record after record, holding one at a time. Not thread-safe.
class CsvReader {
 public:
  // Reads the header. Errors: those of the file; INVALID_ARGUMENT for a delimiter that is a quote
  // or a line end, for a file without a header, and for a column name that is there twice.
  explicit CsvReader(std::unique_ptr<RandomAccessFile> file, CsvOptions options = {});

  const std::string& path() const { return file_->path(); }
  // The names of the columns; empty without a header.
  const std::vector<std::string>& header() const { return header_; }
  // Errors: NOT_FOUND, with the nearest name.
  size_t column_index(std::string_view name) const;

  // Reads the next record; false at the end.
  bool next(CsvRecord& record);

  // Writes field i as the element at `index` of `out`. Numbers may have blanks around them; pred is
  // 0, 1, true or false. Errors: INVALID_ARGUMENT for what is no number or out of range for out's
  // dtype.
  void parse(const CsvRecord& record, size_t i, Tensor& out, int64_t index) const;

 private:
  int peek();
  int get();
  void read_field(CsvRecord& record);
  void read_quoted(CsvRecord& record);
  void read_plain(CsvRecord& record);
  bool read_line_end();
  bool skip_blank_lines();
  void keep(CsvRecord& record, int c) const;
  void check_width(const CsvRecord& record);

  std::unique_ptr<RandomAccessFile> file_;
  CsvOptions options_;
  std::vector<std::string> header_;
  size_t width_ = 0;  // fields a record; 0 before the first

  std::string buffer_;  // bytes of the file from buffer_offset_ on
  uint64_t buffer_offset_ = 0;
  size_t next_ = 0;  // in buffer_
  int64_t line_ = 1;
  int64_t column_ = 1;
};

struct CsvColumn {
  size_t index = 0;
  DType dtype = DType::string;
};

// Up to `max_rows` of the records that are left, as one tensor [rows] for each column; no rows at
// the end. Errors: those of next() and parse(); INVALID_ARGUMENT for a column that is not there.
std::vector<Tensor> read_csv_columns(CsvReader& reader, std::span<const CsvColumn> columns,
                                     int64_t max_rows = std::numeric_limits<int64_t>::max());

}  // namespace systole
