#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/lookup/table.h"

namespace systole {
namespace {

std::vector<TensorType> infer_hash_table(const InferContext& c) {
  check_table(c);
  return {{DType::resource, {}}};
}

// True for 0, 1, 2...
bool are_positions(const Tensor& numbers) {
  if (numbers.dtype() != DType::s64) return false;
  int64_t next = 0;
  return std::ranges::all_of(numbers.data<int64_t>(), [&](int64_t n) { return n == next++; });
}

void set_file(const ImportContext& c, bool to_numbers, AttrMap& attrs) {
  const std::optional<Tensor> file = constant_value(c.input(0));
  if (!file || file->dtype() != DType::string || file->rank() != 0) {
    throw unimplemented("file of a table, got a computed name, expected a constant");
  }
  const auto key_index = c.attr<int64_t>("key_index");
  const auto value_index = c.attr<int64_t>("value_index");
  if (key_index != (to_numbers ? -2 : -1) || value_index != (to_numbers ? -1 : -2)) {
    throw unimplemented(
        "table, got columns {} and {} of a file, expected lines (-2) and their numbers (-1)",
        key_index, value_index);
  }
  attrs["filename"] = file->item<std::string>();
  attrs["vocab_size"] = std::max<int64_t>(c.attr<int64_t>("vocab_size"), 0);
}

void set_words(const ImportContext& c, bool to_numbers, AttrMap& attrs) {
  const std::optional<Tensor> words = constant_value(c.input(to_numbers ? 0 : 1));
  const std::optional<Tensor> numbers = constant_value(c.input(to_numbers ? 1 : 0));
  const bool known = words && numbers && words->rank() == 1 && words->shape() == numbers->shape();
  if (!known || words->dtype() != DType::string || !are_positions(*numbers)) {
    throw unimplemented(
        "content of a table, got other keys and values, expected constant strings numbered from 0");
  }
  attrs["vocabulary"] = *words;
}

// The inputs are those of the op that fills the table, after the table: a file, or keys and
// values.
std::vector<Output> import_hash_table(const ImportContext& c) {
  const bool to_numbers = c.attr<DType>("value_dtype") == DType::s64;
  AttrMap attrs{{"key_dtype", c.attr<DType>("key_dtype")},
                {"value_dtype", c.attr<DType>("value_dtype")},
                {"filename", std::string()},
                {"vocabulary", Tensor()},
                {"vocab_size", int64_t{0}},
                {"_table", std::string(c.name)},
                {"_initializer", c.attr<std::string>("_initializer")}};
  if (c.inputs.size() == 1) {
    set_file(c, to_numbers, attrs);
  } else {
    set_words(c, to_numbers, attrs);
  }
  return c.add({}, std::move(attrs));
}

std::vector<Tensor> run_hash_table(HostContext& c) {
  throw unimplemented("table, got a run of its handle '{}', expected lookups in it", c.node.name());
}

}  // namespace

namespace ops {
extern const OpDef op_hash_table{
    .name = "HashTableV2",
    .doc = "A lookup table. Nodes that use one carry its attributes; this one is made by imports.",
    .outputs = "table_handle: resource",
    .attrs =
        "key_dtype: type, value_dtype: type, key_index: int = -2, value_index: int = -1, "
        "vocab_size: int = -1, delimiter: string = '\t', _initializer: string",
    .graph_def = {.aliases = "HashTable",
                  .filled_by =
                      "InitializeTableFromTextFileV2 InitializeTableFromTextFile InitializeTableV2 "
                      "LookupTableImportV2",
                  .import_node = import_hash_table,
                  .export_node = [](ExportContext& c) { export_table(c); }},
    .infer = infer_hash_table,
    .host = run_hash_table,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
