// Tables of measurements: a line for each, columns by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace systole::profile {

// The first line names the columns, in any order; they are separated by tabs if it has any, else by
// commas. Fields have no quotes; empty lines are skipped. `text` must outlive the table. Errors:
// INVALID_ARGUMENT, which name `file` and the line.
class MeasuredTable {
 public:
  // Errors: also for a table without one of `columns`.
  MeasuredTable(std::string_view text, std::string file, const std::vector<const char*>& columns);

  // Goes to the next line. Returns false at the end.
  bool next();
  // "" for a column that is not there.
  std::string_view field(const std::string& name) const;
  // A whole number in [1, 2^31].
  int64_t count(const std::string& name) const;
  // A positive number. `or_else`: what else the column may hold, for the error.
  double positive(const std::string& name, const char* or_else = "") const;
  // The error for a field that is not `expected`.
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

 private:
  bool next_line(std::string_view& line);

  std::string file_;
  std::string_view text_;
  int line_ = 0;
  char separator_ = ',';
  std::map<std::string, size_t> columns_;
  std::vector<std::string_view> fields_;
};

}  // namespace systole::profile
