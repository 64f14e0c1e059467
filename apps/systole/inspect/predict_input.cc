#include "apps/systole/inspect/predict_input.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "systole/base/suggest.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/csv.h"
#include "systole/io/tables/npy.h"

namespace systole::app {
namespace {

constexpr const char* kResultName = "systole.name";

// Whether a name needs no escapes, and is safe as the name of a file.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && !name.starts_with('.') &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
         });
}

// Rows of `width` values in the shape that the signature gives one example.
Tensor shaped(const Tensor& rows, const TensorInfo& info) {
  if (!info.shape || info.shape->rank() < 1) return rows;
  Shape shape = *info.shape;
  shape.set_dim(0, rows.dim(0));
  if (!shape.is_static() || shape.num_elements() != rows.num_elements()) return rows;
  return rows.reshape(shape);
}

Tensor converted(const Tensor& tensor, const TensorInfo& info) {
  if (tensor.dtype() == info.dtype || !is_numeric(tensor.dtype()) || !is_numeric(info.dtype)) {
    return tensor;
  }
  return tensor.cast(info.dtype);
}

// The columns side by side: [rows, columns].
Tensor matrix_of(const std::vector<Tensor>& columns, DType dtype) {
  const int64_t rows = columns[0].dim(0);
  const auto width = static_cast<int64_t>(columns.size());
  Tensor matrix(DType::f64, {rows, width});
  for (int64_t column = 0; column < width; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      matrix.data<double>()[row * width + column] = columns[column].as_double(row);
    }
  }
  return matrix.cast(dtype);
}

std::vector<Tensor> read_columns(FileSystem& file_system, const std::string& path,
                                 const std::vector<std::string>& names, DType dtype) {
  CsvReader reader(file_system.open(path));
  std::vector<CsvColumn> columns;
  if (names.empty()) {
    for (size_t i = 0; i < reader.header().size(); ++i) columns.push_back({i, dtype});
  }
  for (const std::string& name : names) {
    const auto found = std::ranges::find(reader.header(), name);
    if (found == reader.header().end()) {
      throw not_found("{}: columns, got '{}', expected one for input '{}'", path,
                      fmt::join(reader.header(), "', '"), name);
    }
    columns.push_back({static_cast<size_t>(found - reader.header().begin()), dtype});
  }
  std::vector<Tensor> values = read_csv_columns(reader, columns);
  if (values[0].dim(0) == 0) {
    throw invalid_argument("{}: records, got none after the first line, which names the columns",
                           path);
  }
  return values;
}

void read_csv(FileSystem& file_system, const std::string& path, const SignatureInfo& signature,
              NamedTensors& inputs) {
  if (signature.inputs.size() == 1) {
    const auto& [name, info] = *signature.inputs.begin();
    if (info.dtype == DType::string) {
      inputs[name] = read_columns(file_system, path, {name}, DType::string)[0];
      return;
    }
    const auto columns = read_columns(file_system, path, {}, DType::f64);
    inputs[name] = shaped(matrix_of(columns, info.dtype), info);
    return;
  }
  for (const auto& [name, info] : signature.inputs) {
    inputs[name] = shaped(read_columns(file_system, path, {name}, info.dtype)[0], info);
  }
}

template <class T, class Read>
Tensor feature_rows(const std::vector<std::string>& records, const std::string& name) {
  std::vector<T> values;
  size_t width = 0;
  for (const std::string& record : records) {
    const ExampleView view(record);
    const FeatureView* feature = view.find(name);
    if (feature == nullptr) throw view.missing(name);
    std::vector<Read> row;
    feature->append_to(row);
    if (values.empty()) width = row.size();
    if (row.size() != width) {
      throw invalid_argument("feature '{}', got {} values, expected {} as in the record before",
                             name, row.size(), width);
    }
    values.insert(values.end(), row.begin(), row.end());
  }
  return Tensor::of<T>({static_cast<int64_t>(records.size()), static_cast<int64_t>(width)}, values);
}

Tensor feature_tensor(const std::vector<std::string>& records, const std::string& name,
                      const TensorInfo& info) {
  const ExampleView first(records.front());
  const FeatureView* feature = first.find(name);
  if (feature == nullptr) throw first.missing(name);
  switch (feature->kind()) {
    case FeatureKind::bytes:
      return feature_rows<std::string, std::string_view>(records, name);
    case FeatureKind::int64s:
      return converted(feature_rows<int64_t, int64_t>(records, name), info);
    default:
      return converted(feature_rows<float, float>(records, name), info);
  }
}

void read_records(FileSystem& file_system, const std::string& path, const SignatureInfo& signature,
                  NamedTensors& inputs) {
  const Compression compression = sniff_record_compression(*file_system.open(path));
  RecordReader reader(file_system, path, {.compression = compression});
  std::vector<std::string> records;
  while (const auto record = reader.next()) records.emplace_back(*record);
  if (records.empty()) {
    throw invalid_argument("{}: records, got none, expected one or more", path);
  }
  const auto& [only, info] = *signature.inputs.begin();
  if (signature.inputs.size() == 1 && info.dtype == DType::string) {
    inputs[only] = Tensor::of<std::string>({static_cast<int64_t>(records.size())}, records);
    return;
  }
  for (const auto& [name, tensor] : signature.inputs) {
    inputs[name] = shaped(feature_tensor(records, name, tensor), tensor);
  }
}

void read_one(FileSystem& file_system, const std::string& name, const std::string& path,
              const SignatureInfo& signature, NamedTensors& inputs) {
  const auto it = signature.inputs.find(name);
  if (it == signature.inputs.end()) {
    std::vector<std::string> names;
    for (const auto& [input, info] : signature.inputs) names.push_back(input);
    throw invalid_argument("--input: name, got '{}', expected an input of the signature: {}{}",
                           name, fmt::join(names, ", "), did_you_mean(name, names));
  }
  if (path.ends_with(".npy")) {
    inputs[name] = converted(read_npy(file_system, path), it->second);
    return;
  }
  SignatureInfo only;
  only.inputs[name] = it->second;
  (path.ends_with(".csv") ? read_csv : read_records)(file_system, path, only, inputs);
}

}  // namespace

NamedTensors read_predict_inputs(FileSystem& file_system, const SignatureInfo& signature,
                                 const std::vector<std::string>& specs) {
  NamedTensors inputs;
  for (const std::string& spec : specs) {
    const size_t equals = spec.find('=');
    if (equals != std::string::npos && !file_system.exists(spec)) {
      read_one(file_system, spec.substr(0, equals), spec.substr(equals + 1), signature, inputs);
    } else if (signature.inputs.empty()) {
      throw invalid_argument("--input: got '{}', expected none: the signature takes nothing", spec);
    } else if (spec.ends_with(".csv")) {
      read_csv(file_system, spec, signature, inputs);
    } else if (!spec.ends_with(".npy")) {
      read_records(file_system, spec, signature, inputs);
    } else if (signature.inputs.size() == 1) {
      read_one(file_system, signature.inputs.begin()->first, spec, signature, inputs);
    } else {
      throw invalid_argument("--input: got '{}' for a signature of {} inputs, expected NAME={}",
                             spec, signature.inputs.size(), spec);
    }
  }
  return inputs;
}

SignatureInfo signature_of_program(const hlo::Module& program, const std::string& path) {
  const hlo::Computation& main = program.entry();
  if (main.num_parameters() == 0 || main.num_parameters() > 10) {
    throw invalid_argument("{}: parameters of main, got {}, expected 1 to 10", path,
                           main.num_parameters());
  }
  SignatureInfo signature;
  for (int i = 0; i < main.num_parameters(); ++i) {
    const TensorType& type = main.parameter(i).type();
    if (type.shape.rank() == 0) {
      throw invalid_argument("{}: parameter {}, got {}, expected a batch of examples", path, i,
                             type);
    }
    Shape shape = type.shape;
    shape.set_dim(0, kUnknown);
    signature.inputs[fmt::format("arg{}", i)] = {
        .name = "",
        .dtype_name = std::string(dtype_info(type.dtype).tf_name),
        .dtype = type.dtype,
        .shape = shape};
  }
  return signature;
}

std::vector<std::string> result_names(const hlo::Module& program) {
  const auto& attributes = program.entry().attributes().results;
  std::vector<std::string> numbers;
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(program.entry().results().size()); ++i) {
    numbers.push_back(fmt::format("result{}", i));
    names.push_back(numbers.back());
    const auto own = attributes.find(i);
    if (own == attributes.end() || !own->second.contains(kResultName)) continue;
    const std::string& text = own->second.at(kResultName);  // in quotation marks
    const std::string name = text.size() < 2 ? "" : text.substr(1, text.size() - 2);
    if (is_plain_name(name)) names.back() = name;
  }
  const std::set<std::string> different(names.begin(), names.end());
  return different.size() == names.size() ? names : numbers;
}

void set_result_name(hlo::AttributeTexts& attributes, const std::string& name) {
  if (is_plain_name(name)) attributes[kResultName] = '"' + name + '"';
}

}  // namespace systole::app
