#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "systole/base/extend_rows.h"
#include "systole/base/number_text.h"
#include "systole/base/text.h"
#include "systole/io/tables/csv.h"

namespace systole {

namespace {

template <class T>
std::optional<T> parse_as(std::string_view text) {
  return parse_number<T>(text, TooLarge::none);
}

template <class T>
std::optional<T> parse_element(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    text = without_blanks(text);
    if (text == "1" || text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "0" || text == "false" || text == "False" || text == "FALSE") return false;
    return std::nullopt;
  } else if constexpr (requires { typename T::value_type; }) {
    const auto real = parse_as<typename T::value_type>(text);
    return real ? std::optional<T>(*real) : std::nullopt;
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    const auto value = parse_as<float>(text);
    if (!value || (std::isfinite(*value) && !std::isfinite(static_cast<float>(T(*value))))) {
      return std::nullopt;
    }
    return T(*value);
  } else if constexpr (is_narrow_integer<T>) {
    const auto value = parse_as<int>(text);
    if (!value || static_cast<int>(T(*value)) != *value) return std::nullopt;
    return T(*value);
  } else {
    return parse_as<T>(text);
  }
}

}  // namespace

void CsvReader::parse(const CsvRecord& record, size_t i, Tensor& out, int64_t index) const {
  const auto position = static_cast<size_t>(index);
  if (out.dtype() == DType::string) {
    out.data<std::string>()[position] = record[i];
    return;
  }
  visit_dtype(out.dtype(), [&]<class T>() {
    const std::optional<T> value = parse_element<T>(record[i]);
    if (!value) {
      const std::string name = i < header_.size() ? fmt::format(" of column '{}'", header_[i]) : "";
      throw invalid_argument("{}: value{}, got '{}', expected {}", place(record, i), name,
                             record[i], out.dtype());
    }
    out.data<T>()[position] = *value;
  });
}

std::vector<Tensor> read_csv_columns(CsvReader& reader, std::span<const CsvColumn> columns,
                                     int64_t max_rows) {
  int64_t capacity = std::min<int64_t>(max_rows, 256);
  std::vector<Tensor> result;
  for (const CsvColumn& column : columns) result.emplace_back(column.dtype, Shape{capacity});

  int64_t rows = 0;
  CsvRecord record;
  while (rows < max_rows && reader.next(record)) {
    if (rows == capacity) {
      capacity = std::min(max_rows, capacity * 2);
      for (Tensor& tensor : result) tensor = extend_rows(tensor, capacity);
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].index >= record.size()) {
        throw invalid_argument("{}: column, got {}, expected in [0, {})", reader.path(),
                               columns[c].index, record.size());
      }
      reader.parse(record, columns[c].index, result[c], rows);
    }
    ++rows;
  }
  if (rows != capacity) {
    for (Tensor& tensor : result) tensor = tensor.slice(0, rows).clone();
  }
  return result;
}

}  // namespace systole
