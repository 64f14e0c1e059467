#include "systole/graph/ops/parsing/example_schema.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/core/op_signature.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

using Texts = std::vector<std::string>;

void check_feature_dtype(const std::string& key, DType dtype) {
  if (dtype == DType::s64 || dtype == DType::f32 || dtype == DType::string) return;
  throw invalid_argument(
      "feature '{}', got dtype {}, expected s64, f32 or string (cast it afterwards)", key, dtype);
}

// As feature specs have them, or as somebody wrote them into a file.
void check_item_shape(const std::string& key, const Shape& shape, bool variable) {
  if (!variable && !shape.is_static()) {
    throw invalid_argument(
        "feature '{}', got shape {}, expected known sizes (a "
        "FixedLenSequenceFeature or VarLenFeature has any number of values)",
        key, shape);
  }
  if (variable && (!shape.is_static() || shape.num_elements() == 0)) {
    throw invalid_argument("feature '{}', got items of shape {}, expected known sizes above 0", key,
                           shape);
  }
}

DType checked_raw(const ExampleSchema::Dense& feature, DType raw) {
  const bool text = feature.dtype == DType::string && !feature.variable && feature.shape == Shape();
  if (text && is_graph_dtype(raw) && raw != DType::pred && raw != DType::s4 && raw != DType::u4) {
    return raw;
  }
  throw invalid_argument("feature '{}', got its bytes as {}, expected a string scalar as numbers",
                         feature.key, raw);
}

Shape with_leading(int64_t size, const Shape& shape) {
  Dims dims{size};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(std::move(dims));
}

// A default as the op takes it: of the item's shape, a scalar, or without elements.
Tensor default_of(const std::string& key, const std::optional<Tensor>& value, DType dtype,
                  const Shape& shape) {
  if (!value) return Tensor::zeros(dtype, {0});
  Tensor tensor = *value;
  if (tensor.dtype() != dtype && is_numeric(tensor.dtype()) && is_numeric(dtype)) {
    tensor = tensor.cast(dtype);
  }
  if (tensor.dtype() != dtype || (tensor.num_elements() != 1 && tensor.shape() != shape)) {
    throw invalid_argument("default_value of feature '{}', got {}, expected {} of shape {}", key,
                           tensor.type(), dtype, shape);
  }
  return tensor;
}

std::vector<Tensor> defaults_of(const FeatureSpecs& features) {
  std::vector<Tensor> defaults;
  for (const auto& [key, spec] : features) {
    if (const auto* fixed = std::get_if<FixedLenFeature>(&spec)) {
      defaults.push_back(default_of(key, fixed->default_value, fixed->dtype, fixed->shape));
    } else if (const auto* sequence = std::get_if<FixedLenSequenceFeature>(&spec)) {
      std::optional<Tensor> value = sequence->default_value;
      if (!value && sequence->allow_missing) value = Tensor::zeros(sequence->dtype, {});
      defaults.push_back(default_of(key, value, sequence->dtype, {}));
    }
  }
  return defaults;
}

}  // namespace

ExampleSchema::ExampleSchema(const FeatureSpecs& features) {
  if (features.empty()) throw invalid_argument("features, got none, expected one or more");
  for (const auto& [key, spec] : features) {
    std::visit([&, &key = key](const auto& feature) { check_feature_dtype(key, feature.dtype); },
               spec);
    if (const auto* fixed = std::get_if<FixedLenFeature>(&spec)) {
      check_item_shape(key, fixed->shape, false);
      dense.push_back({key, fixed->dtype, fixed->shape});
    } else if (const auto* sequence = std::get_if<FixedLenSequenceFeature>(&spec)) {
      check_item_shape(key, sequence->shape, true);
      dense.push_back({key, sequence->dtype, sequence->shape, true});
    } else {
      sparse.push_back({key, std::get<VarLenFeature>(spec).dtype});
    }
  }
}

ExampleSchema::ExampleSchema(const AttrMap& attrs) {
  const auto texts = [&](std::string_view name) -> const Texts& {
    const auto it = attrs.find(name);
    if (it != attrs.end() && std::holds_alternative<Texts>(it->second)) {
      return std::get<Texts>(it->second);
    }
    throw invalid_argument("attribute '{}', got none, expected a list of strings", name);
  };
  const Texts& sparse_keys = texts("sparse_keys");
  const Texts& sparse_types = texts("sparse_types");
  const Texts& dense_keys = texts("dense_keys");
  const Texts& dense_types = texts("Tdense");
  const Texts& dense_shapes = texts("dense_shapes");
  if (sparse_keys.size() != sparse_types.size() || dense_keys.size() != dense_types.size() ||
      dense_keys.size() != dense_shapes.size()) {
    throw invalid_argument("keys, got {} and {}, expected as many types and shapes",
                           sparse_keys.size(), dense_keys.size());
  }
  for (size_t i = 0; i < sparse_keys.size(); ++i) {
    sparse.push_back({sparse_keys[i], dtype_from_tf(sparse_types[i])});
    check_feature_dtype(sparse_keys[i], sparse.back().dtype);
  }
  for (size_t i = 0; i < dense_keys.size(); ++i) {
    Shape shape = parse_shape(dense_shapes[i]);
    const bool variable = shape.rank() > 0 && shape[0] == kUnknown;
    if (variable) shape = Shape(std::span<const int64_t>(shape.dims()).subspan(1));
    dense.push_back({dense_keys[i], dtype_from_tf(dense_types[i]), shape, variable});
    check_feature_dtype(dense_keys[i], dense.back().dtype);
    check_item_shape(dense_keys[i], shape, variable);
  }
  if (!attrs.contains("_raw_types")) return;
  const Texts& raw_types = texts("_raw_types");
  for (size_t i = 0; i < std::min(dense.size(), raw_types.size()); ++i) {
    if (!raw_types[i].empty()) dense[i].raw = checked_raw(dense[i], dtype_from_tf(raw_types[i]));
  }
}

AttrMap ExampleSchema::attrs() const {
  Texts sparse_keys;
  Texts sparse_types;
  Texts dense_keys;
  Texts dense_types;
  Texts dense_shapes;
  Texts raw_types;
  bool any_raw = false;
  for (const Sparse& feature : sparse) {
    sparse_keys.push_back(feature.key);
    sparse_types.emplace_back(dtype_info(feature.dtype).tf_name);
  }
  for (const Dense& feature : dense) {
    dense_keys.push_back(feature.key);
    dense_types.emplace_back(dtype_info(feature.dtype).tf_name);
    dense_shapes.push_back(
        (feature.variable ? with_leading(kUnknown, feature.shape) : feature.shape).to_string());
    const bool raw = feature.raw != DType::invalid;
    raw_types.emplace_back(raw ? dtype_info(feature.raw).tf_name : "");
    any_raw = any_raw || raw;
  }
  AttrMap result{{"sparse_keys", std::move(sparse_keys)},
                 {"sparse_types", std::move(sparse_types)},
                 {"dense_keys", std::move(dense_keys)},
                 {"Tdense", std::move(dense_types)},
                 {"dense_shapes", std::move(dense_shapes)}};
  if (any_raw) result.emplace("_raw_types", std::move(raw_types));
  return result;
}

std::vector<TensorType> ExampleSchema::result_types(const Shape& records) const {
  std::vector<TensorType> types;
  const auto batched = [&](const Shape& shape) {
    return records.rank() == 0 ? shape : with_leading(records[0], shape);
  };
  for (const Sparse& feature : sparse) {
    types.push_back({feature.dtype, batched({kUnknown})});
    types.push_back({DType::s64, records});
  }
  for (const Dense& feature : dense) {
    if (feature.raw != DType::invalid) {
      types.push_back({feature.raw, batched({kUnknown})});
      continue;
    }
    types.push_back({feature.dtype, batched(feature.variable ? with_leading(kUnknown, feature.shape)
                                                             : feature.shape)});
  }
  return types;
}

std::vector<TensorType> infer_parser(const InferContext& c, int rank) {
  check_strings("serialized", c.input(0));
  if (c.input(0).shape.rank() != rank) {
    throw invalid_argument("serialized, got {}, expected {}", c.input(0),
                           rank == 0 ? "a scalar (parse_example takes a vector)"
                                     : "a vector (parse_single_example takes a scalar)");
  }
  const ExampleSchema schema(c.attrs);
  if (c.num_inputs() != static_cast<int>(schema.dense.size()) + 1) {
    throw invalid_argument("defaults, got {}, expected {}", c.num_inputs() - 1,
                           schema.dense.size());
  }
  for (size_t i = 0; i < schema.dense.size(); ++i) {
    const TensorType& value = c.input(static_cast<int>(i) + 1);
    if (rank == 0 && schema.dense[i].raw != DType::invalid) {
      throw invalid_argument("feature '{}', got its bytes as {}, expected that of batches alone",
                             schema.dense[i].key, schema.dense[i].raw);
    }
    if (value.dtype != schema.dense[i].dtype) {
      throw invalid_argument("default_value of feature '{}', got {}, expected {}",
                             schema.dense[i].key, value, schema.dense[i].dtype);
    }
  }
  return schema.result_types(c.input(0).shape);
}

Nest<Output> add_parser(std::string_view op, const Input& serialized, const FeatureSpecs& features,
                        const NameOptions& options) {
  const CompositionScope scope(serialized, options.name, op);
  std::vector<Output> inputs{resolve(op, serialized)};
  const ExampleSchema schema = with_op(op, serialized.where(), [&] {
    for (const Tensor& value : defaults_of(features)) inputs.push_back(constant(value));
    return ExampleSchema(features);
  });
  Node* const node =
      Graph::current().add_node(op, std::move(inputs), schema.attrs(), {}, scope.result().name);
  std::vector<Nest<Output>::Entry> entries;
  int next = 0;
  for (const ExampleSchema::Sparse& feature : schema.sparse) {
    const Output values = node->output(next++);
    const Output lengths = node->output(next++);
    entries.emplace_back(feature.key,
                         Nest<Output>::dict({{"values", values}, {"lengths", lengths}}));
  }
  for (const ExampleSchema::Dense& feature : schema.dense) {
    entries.emplace_back(feature.key, node->output(next++));
  }
  return Nest<Output>::dict(std::move(entries));
}

std::vector<Output> import_parser(const ImportContext& c) {
  AttrMap attrs = c.attrs;
  for (const char* list : {"sparse_keys", "sparse_types", "dense_keys", "Tdense", "dense_shapes"}) {
    attrs.try_emplace(list, std::vector<std::string>());
  }
  c.input(0);
  return c.add(c.inputs, std::move(attrs));
}

}  // namespace systole
