// Comma-separated values (RFC 4180):
//   file   := [bom] record (eol record)* [eol]          eol := CR LF | LF
//   record := field (delimiter field)*
//   field  := '"' (any byte but '"' | '""')* '"' | (any byte but '"', delimiter, CR, LF)*
// All records have the same number of fields. Errors in the text are INVALID_ARGUMENT and read
// `<file>:<line>:<column>: <what>, got <value>, expected <value>`; lines and columns (in bytes)
// start at 1. After an error the reader continues with the next line.
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
#include "systole/io/wire/compression.h"

namespace systole {

struct CsvOptions {
  bool header = true;  // the first record names the columns
  char delimiter = ',';
  bool quotes = true;                    // false: quotes are ordinary bytes
  bool skip_blank_lines = true;          // false: a blank line is a record with one empty field
  bool same_width = true;                // false: records may have any number of fields
  size_t max_record_bytes = 16U << 20U;  // RESOURCE_EXHAUSTED beyond: most likely an open quote
};

// One record. The reader's next() reuses its memory; views of fields are valid until then.
class CsvRecord {
 public:
  size_t size() const { return fields_.size(); }
  // Returns a field without its quotes. REQUIRES: i < size().
  std::string_view operator[](size_t i) const {
    return std::string_view(text_).substr(fields_[i].begin, fields_[i].size);
  }
  // The line of the record, and the line and column of a field.
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

// Reads one record at a time. Not thread-safe.
class CsvReader {
 public:
  // Reads the header. Errors: those of the file; INVALID_ARGUMENT for a delimiter that is a quote
  // or a line end, for a file without a header, and for a duplicate column name.
  explicit CsvReader(std::unique_ptr<RandomAccessFile> file, CsvOptions options = {});
  // Reads `buffer_bytes` at a time.
  explicit CsvReader(std::unique_ptr<ByteSource> source, CsvOptions options = {},
                     size_t buffer_bytes = 64 * 1024);

  const std::string& path() const { return source_->path(); }
  // Returns "file:line:column" of a field, or "file:line" of a record, with which errors about them
  // start.
  std::string place(const CsvRecord& record, size_t i) const;
  std::string place(const CsvRecord& record) const;
  // The names of the columns; empty without a header.
  const std::vector<std::string>& header() const { return header_; }
  // Errors: NOT_FOUND, with the nearest name.
  size_t column_index(std::string_view name) const;

  // Reads the next record. Returns false at the end. Errors: INVALID_ARGUMENT for malformed text;
  // RESOURCE_EXHAUSTED for a record longer than the options allow or of more than 2^20 fields.
  bool next(CsvRecord& record);
  // Returns whether the next record can be read, also after an error of next().
  bool at_record() const { return at_record_; }

  // Writes field i to the element at `index` of `out`. Numbers may have spaces and tabs around
  // them; pred is 0, 1, true or false. Errors: INVALID_ARGUMENT if it is not a number or out of
  // range of the dtype.
  void parse(const CsvRecord& record, size_t i, Tensor& out, int64_t index) const;

 private:
  int peek();
  int get();
  void read_field(CsvRecord& record);
  void read_quoted(CsvRecord& record);
  void read_plain(CsvRecord& record);
  bool read_line_end();
  bool skip_blank_lines();
  void skip_line();
  void read_fields(CsvRecord& record);
  void keep(CsvRecord& record, int c) const;
  void check_width(const CsvRecord& record);
  std::string place_at(int64_t line, int64_t column) const;

  std::unique_ptr<ByteSource> source_;
  CsvOptions options_;
  size_t buffer_bytes_;
  std::vector<std::string> header_;
  size_t width_ = 0;  // fields a record; 0 before the first

  std::string buffer_;  // the bytes read last
  size_t next_ = 0;     // in buffer_
  bool at_record_ = true;
  int64_t line_ = 1;
  int64_t column_ = 1;
};

struct CsvColumn {
  size_t index = 0;
  DType dtype = DType::string;
};

// Returns up to `max_rows` of the remaining records as one tensor [rows] for each column; no rows
// at the end. Errors: those of next() and parse(); INVALID_ARGUMENT for a missing column.
std::vector<Tensor> read_csv_columns(CsvReader& reader, std::span<const CsvColumn> columns,
                                     int64_t max_rows = std::numeric_limits<int64_t>::max());

}  // namespace systole
