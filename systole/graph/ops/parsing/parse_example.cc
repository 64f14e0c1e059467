#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/host_op.h"
#include "systole/graph/ops/parsing/example_schema.h"

namespace systole {
namespace {

// TensorFlow's op has the names of records and the keys as inputs; ours has the keys as attributes.
// Features of any number of values are two tensors here, and three there: no form for both.
void export_parse_example(ExportContext& c) {
  const ExampleSchema schema(c.node.attrs());
  AttrMap attrs = schema.attrs();
  if (!schema.sparse.empty()) {
    c.in_tensorflow = false;
    c.records.push_back({"ParseExample", c.node.name(), c.inputs(), std::move(attrs)});
    return;
  }
  std::vector<std::string> inputs = c.inputs();
  std::vector<std::string> keys;
  keys.push_back(c.add_constant(c.node.name() + "/names", Tensor::zeros(DType::string, {0})));
  for (const ExampleSchema::Dense& feature : schema.dense) {
    keys.push_back(c.add_constant(fmt::format("{}/dense_keys_{}", c.node.name(), keys.size() - 1),
                                  Tensor(feature.key.c_str())));
  }
  inputs.insert(inputs.begin() + 1, keys.begin(), keys.end());
  attrs.erase("sparse_keys");
  attrs.erase("dense_keys");
  attrs["Nsparse"] = int64_t{0};
  attrs["Ndense"] = static_cast<int64_t>(schema.dense.size());
  c.records.push_back({"ParseExample", c.node.name(), std::move(inputs), std::move(attrs)});
}

std::vector<Output> import_parse_example(const ImportContext& c) {
  if (!c.attrs.contains("Nsparse")) return import_parser(c);
  if (const auto sparse = c.attr<int64_t>("Nsparse"); sparse != 0) {
    throw unimplemented("sparse features, got {}, expected none", sparse);
  }
  const auto types = c.attrs.find("Tdense");
  const size_t count =
      types == c.attrs.end() ? 0 : c.attr<std::vector<std::string>>("Tdense").size();
  std::vector<std::string> keys;
  std::vector<Output> inputs = {c.input(0)};
  for (size_t i = 0; i < count; ++i) {
    const auto key = constant_value(c.input(2 + i));
    if (!key) throw unimplemented("keys, got computed ones, expected constants");
    keys.push_back(key->item<std::string>());
    inputs.push_back(c.input(2 + count + i));
  }
  ImportContext parser = c;
  parser.inputs = std::move(inputs);
  parser.attrs["dense_keys"] = std::move(keys);
  for (const char* count_attr : {"Nsparse", "Ndense"}) parser.attrs.erase(count_attr);
  return import_parser(parser);
}

}  // namespace

Nest<Output> parse_example(const Input& serialized, const FeatureSpecs& features,
                           const NameOptions& options) {
  return add_parser("ParseExample", serialized, features, options);
}

namespace ops {
extern const OpDef op_parse_example{
    .name = "ParseExample",
    .doc = "The features of a batch of records.",
    .inputs =
        "serialized: string, names: string, sparse_keys: Nsparse * string, "
        "dense_keys: Ndense * string, dense_defaults: Tdense",
    .outputs =
        "sparse_indices: Nsparse * int64, sparse_values: sparse_types, "
        "sparse_shapes: Nsparse * int64, dense_values: Tdense",
    .attrs =
        "sparse_types: list(type), Tdense: list(type), dense_shapes: list(shape), "
        "sparse_keys: list(string), dense_keys: list(string), "
        "_raw_types: list(string)",
    .graph_def = {.import_node = import_parse_example, .export_node = export_parse_example},
    .infer = [](const InferContext& c) { return infer_parser(c, 1); },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
