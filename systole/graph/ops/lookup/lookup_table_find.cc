#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/host_op.h"
#include "systole/graph/ops/lookup/table.h"

namespace systole {
namespace {

std::vector<TensorType> infer_lookup_table_find(const InferContext& c) {
  check_table(c);
  const DType wanted = c.attr<DType>("key_dtype");
  const DType got = c.input(0).dtype;
  if (got != wanted && !(got == DType::s32 && wanted == DType::s64)) {
    throw invalid_argument("keys, got {}, expected {}", c.input(0), wanted);
  }
  return {{c.attr<DType>("value_dtype"), c.input(0).shape}};
}

// Keys of s32 are TensorFlow's s64.
std::string export_keys(ExportContext& c) {
  std::string keys = c.reference(c.node.input(0));
  if (c.node.input(0).dtype() != DType::s32) return keys;
  const std::string name = c.node.name() + "/keys";
  c.records.push_back({"Cast", name, {keys}, {{"SrcT", DType::s32}, {"DstT", DType::s64}}});
  return c.reference_record(name, "y");
}

// Buckets are ops of their own: where a word is not found, vocabulary size + hash % buckets.
void export_buckets(ExportContext& c, const std::string& table, const std::string& keys,
                    const std::string& found, const std::string& missing) {
  const std::string& name = c.node.name();
  const AttrMap numbers{{"T", DType::s64}};
  const auto add = [&](std::string op, const char* part, std::string_view output,
                       std::vector<std::string> inputs, AttrMap attrs) {
    const std::string record = fmt::format("{}/{}", name, part);
    c.records.push_back({std::move(op), record, std::move(inputs), std::move(attrs)});
    return c.reference_record(record, output);
  };
  const std::string size = add("LookupTableSizeV2", "size", "size", {table}, {});
  const std::string bucket = add("StringToHashBucketFast", "hash_bucket", "output", {keys},
                                 {{"num_buckets", c.node.attr<int64_t>("num_oov_buckets")}});
  const std::string outside = add("Add", "outside", "z", {bucket, size}, numbers);
  const std::string known = add("NotEqual", "known", "z", {found, missing}, numbers);
  c.records.push_back({"Select", name, {known, found, outside}, numbers});
}

void export_lookup_table_find(ExportContext& c) {
  const std::string table = export_table(c);
  const std::string keys = export_keys(c);
  const std::string& name = c.node.name();
  const bool buckets = c.node.attr<int64_t>("num_oov_buckets") > 0;
  // With buckets, a value that no word has.
  const Tensor fallback = buckets ? Tensor(int64_t{-1}) : c.node.attr<Tensor>("default_value");
  const std::string missing = c.add_constant(name + "/default_value", fallback);
  const std::string find = buckets ? name + "/find" : name;
  c.records.push_back(
      {"LookupTableFindV2",
       find,
       {table, keys, missing},
       {{"Tin", c.node.attr<DType>("key_dtype")}, {"Tout", c.node.attr<DType>("value_dtype")}}});
  if (buckets) {
    export_buckets(c, table, keys, c.reference_record(find, "values"), missing);
  }
}

std::vector<Output> import_lookup_table_find(const ImportContext& c) {
  AttrMap attrs = imported_table(c);
  const std::optional<Tensor> missing = constant_value(c.input(2));
  if (!missing || missing->num_elements() != 1) {
    throw unimplemented("default value, got a computed one, expected a constant scalar");
  }
  if (missing->dtype() != std::get<DType>(attrs["value_dtype"])) {
    throw invalid_argument("default value, got {}, expected {}", missing->type(),
                           std::get<DType>(attrs["value_dtype"]));
  }
  attrs["num_oov_buckets"] = int64_t{0};
  attrs["default_value"] = *missing;
  return c.add({c.input(1)}, std::move(attrs));
}

}  // namespace

namespace ops {
extern const OpDef op_lookup_table_find{
    .name = "LookupTableFindV2",
    .doc = "The values of keys in a table.",
    .inputs = "table_handle: resource, keys: Tin, default_value: Tout",
    .outputs = "values: Tout",
    .graph_def = {.aliases = "LookupTableFind",
                  .import_node = import_lookup_table_find,
                  .export_node = export_lookup_table_find},
    .infer = infer_lookup_table_find,
    .host = kernel_of_session,
    .batch = {.rule = batch_first_input},
};
}  // namespace ops
}  // namespace systole
