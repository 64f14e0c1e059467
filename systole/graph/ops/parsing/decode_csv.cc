#include "systole/base/escape.h"
#include "systole/base/number_text.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

bool is_csv_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::s32 || dtype == DType::s64 ||
         dtype == DType::string;
}

std::vector<TensorType> infer_decode_csv(const InferContext& c) {
  check_strings("records", c.input(0));
  const auto& delimiter = c.attr<std::string>("field_delim");
  const bool quotes = c.attr<bool>("use_quote_delim");
  if (delimiter.size() != 1 || delimiter == "\n" || delimiter == "\r" ||
      (quotes && delimiter == "\"")) {
    throw invalid_argument("field_delim, got {}, expected one character, no quote or line end",
                           quoted_text(delimiter));
  }
  const auto& columns = c.attr<std::vector<int64_t>>("select_cols");
  const auto num_columns = static_cast<size_t>(c.num_inputs() - 1);
  if (num_columns == 0) throw invalid_argument("record_defaults, got none, expected one a column");
  if (!columns.empty() && columns.size() != num_columns) {
    throw invalid_argument("select_cols, got {} columns, expected {}, one for each default",
                           columns.size(), num_columns);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0 || (i > 0 && columns[i] <= columns[i - 1])) {
      throw invalid_argument("select_cols, got {} after {}, expected ascending numbers >= 0",
                             columns[i], i > 0 ? columns[i - 1] : -1);
    }
  }
  std::vector<TensorType> results;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const TensorType& type = c.input(i);
    const bool fits = type.is_static() && type.shape.rank() <= 1 && type.shape.num_elements() <= 1;
    if (!fits || !is_csv_dtype(type.dtype)) {
      throw invalid_argument(
          "record_defaults {}, got {}, expected at most one element of f32, "
          "f64, s32, s64 or string",
          i - 1, type);
    }
    results.push_back({type.dtype, c.input(0).shape});
  }
  return results;
}

// The fields of a line. Errors: INVALID_ARGUMENT for quotes that RFC 4180 does not have.
class LineSplitter {
 public:
  LineSplitter(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

  const std::vector<std::string>& split(std::string_view line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    fields_.clear();
    size_t at = 0;
    while (true) {
      at = quotes_ && at < line.size() && line[at] == '"' ? quoted_field(line, at)
                                                          : plain_field(line, at);
      if (at >= line.size()) return fields_;
      ++at;
    }
  }

 private:
  size_t plain_field(std::string_view line, size_t begin) {
    const size_t end = std::min(line.find(delimiter_, begin), line.size());
    const std::string_view field = line.substr(begin, end - begin);
    if (quotes_ && field.find('"') != std::string_view::npos) {
      throw invalid_argument("field {}, got {}, expected quotes around the whole field",
                             fields_.size(), quoted_text(field));
    }
    fields_.emplace_back(field);
    return end;
  }

  // From an opening quote to the delimiter after the closing one.
  size_t quoted_field(std::string_view line, size_t begin) {
    std::string field;
    for (size_t i = begin + 1; i < line.size(); ++i) {
      if (line[i] != '"') {
        field += line[i];
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        field += line[i++];
      } else if (i + 1 == line.size() || line[i + 1] == delimiter_) {
        fields_.push_back(std::move(field));
        return i + 1;
      } else {
        break;
      }
    }
    throw invalid_argument("field {}, got {}, expected a closing quote at its end", fields_.size(),
                           quoted_text(line.substr(begin)));
  }

  char delimiter_;
  bool quotes_;
  std::vector<std::string> fields_;
};

template <class T>
T field_value(const std::string& field, size_t column, size_t record) {
  if constexpr (std::is_same_v<T, std::string>) {
    return field;
  } else {
    if (const std::optional<T> number = parse_number<T>(field)) return *number;
    throw invalid_argument("field {} of record {}, got {}, expected a valid {}", column, record,
                           quoted_text(field), dtype_of<T>());
  }
}

template <class T>
void store(const std::string* field, const Tensor& fallback, size_t column, size_t record,
           Tensor& result) {
  if (field == nullptr && fallback.num_elements() == 0) {
    throw invalid_argument("field {} of record {}, got none, expected a value: it has no default",
                           column, record);
  }
  result.data<T>()[record] =
      field == nullptr ? fallback.data<T>()[0] : field_value<T>(*field, column, record);
}

void store_any(const std::string* field, const Tensor& fallback, size_t column, size_t record,
               Tensor& result) {
  if (result.dtype() == DType::string) {
    return store<std::string>(field, fallback, column, record, result);
  }
  if (result.dtype() == DType::f32) return store<float>(field, fallback, column, record, result);
  if (result.dtype() == DType::f64) return store<double>(field, fallback, column, record, result);
  if (result.dtype() == DType::s32) return store<int32_t>(field, fallback, column, record, result);
  store<int64_t>(field, fallback, column, record, result);
}

std::vector<Tensor> run_decode_csv(HostContext& c) {
  const auto records = c.inputs[0].data<std::string>();
  const auto& columns = c.node.attr<std::vector<int64_t>>("select_cols");
  const auto& na_value = c.node.attr<std::string>("na_value");
  const std::span<const Tensor> defaults = c.inputs.subspan(1);
  std::vector<Tensor> results;
  for (const Tensor& fallback : defaults) {
    results.emplace_back(fallback.dtype(), c.inputs[0].shape());
  }
  LineSplitter splitter(c.node.attr<std::string>("field_delim")[0],
                        c.node.attr<bool>("use_quote_delim"));
  for (size_t r = 0; r < records.size(); ++r) {
    const std::vector<std::string>& fields = splitter.split(records[r]);
    if (columns.empty() && fields.size() != defaults.size()) {
      throw invalid_argument("record {}, got {} fields in {}, expected {}", r, fields.size(),
                             quoted_text(records[r]), defaults.size());
    }
    for (size_t i = 0; i < defaults.size(); ++i) {
      const size_t column = columns.empty() ? i : static_cast<size_t>(columns[i]);
      if (column >= fields.size()) {
        throw invalid_argument("record {}, got {} fields in {}, expected at least {}", r,
                               fields.size(), quoted_text(records[r]), column + 1);
      }
      const bool missing = fields[column].empty() || fields[column] == na_value;
      store_any(missing ? nullptr : &fields[column], defaults[i], column, r, results[i]);
    }
  }
  return results;
}

}  // namespace

std::vector<Output> decode_csv(const Input& records, const std::vector<Tensor>& record_defaults,
                               const DecodeCsvOptions& options) {
  std::vector<Output> inputs{resolve("DecodeCSV", records)};
  for (const Tensor& value : record_defaults) {
    inputs.push_back(Input(value, Input::Where{}).resolve());
  }
  Node* const node = Graph::current().add_node("DecodeCSV", std::move(inputs),
                                               {{"field_delim", options.field_delim},
                                                {"use_quote_delim", options.use_quote_delim},
                                                {"na_value", options.na_value},
                                                {"select_cols", options.select_cols}},
                                               records.where(), options.name);
  return node->outputs();
}

namespace ops {
extern const OpDef op_decode_csv{
    .name = "DecodeCSV",
    .doc = "The fields of comma-separated lines.",
    .inputs = "records: string, record_defaults: OUT_TYPE",
    .outputs = "output: OUT_TYPE",
    .attrs =
        "OUT_TYPE: list(type), field_delim: string = ',', use_quote_delim: bool = true, "
        "na_value: string = '', select_cols: list(int) = []",
    .infer = infer_decode_csv,
    .host = run_decode_csv,
    .batch = {.rule = batch_first_input},
};
}  // namespace ops
}  // namespace systole
