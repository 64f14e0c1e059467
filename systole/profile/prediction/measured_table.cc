#include "systole/profile/prediction/measured_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "systole/base/error.h"

namespace systole::profile {
namespace {

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const size_t end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

MeasuredTable::MeasuredTable(std::string_view text, std::string file,
                             const std::vector<const char*>& columns)
    : file_(std::move(file)), text_(text) {
  std::string_view header;
  if (!next_line(header)) throw invalid_argument("{}: table, got no line", file_);
  separator_ = header.find('\t') != std::string_view::npos ? '\t' : ',';
  const auto names = split(header, separator_);
  for (size_t i = 0; i < names.size(); ++i) columns_[std::string(names[i])] = i;
  for (const char* name : columns) {
    if (!columns_.contains(name))
      throw invalid_argument("{}:1: columns, got no '{}', expected it", file_, name);
  }
}

bool MeasuredTable::next() {
  std::string_view line;
  if (!next_line(line)) return false;
  fields_ = split(line, separator_);
  return true;
}

std::string_view MeasuredTable::field(const std::string& name) const {
  const auto column = columns_.find(name);
  return column == columns_.end() || column->second >= fields_.size() ? std::string_view()
                                                                      : fields_[column->second];
}

int64_t MeasuredTable::count(const std::string& name) const {
  constexpr int64_t kMax = int64_t{1} << 31;
  const std::string_view text = field(name);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMax)
    refuse(name, fmt::format("a whole number in [1, {}]", kMax));
  return value;
}

double MeasuredTable::positive(const std::string& name, const char* or_else) const {
  const std::string_view text = field(name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) ||
      !std::isfinite(value)) {
    refuse(name, std::string("a positive number") + or_else);
  }
  return value;
}

void MeasuredTable::refuse(const std::string& name, const std::string& expected) const {
  throw invalid_argument("{}:{}: {}, got '{}', expected {}", file_, line_, name, field(name),
                         expected);
}

bool MeasuredTable::next_line(std::string_view& line) {
  while (!text_.empty()) {
    const size_t end = std::min(text_.find('\n'), text_.size());
    line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) return true;
  }
  return false;
}

}  // namespace systole::profile
