#include "systole/graph/ops/lookup/table.h"

#include <array>

namespace systole {
namespace {

constexpr std::array<std::string_view, 7> kTableAttrs = {
    "key_dtype", "value_dtype", "filename", "vocabulary", "vocab_size", "_table", "_initializer"};

// Columns of a file that are the whole line, and its number.
constexpr int64_t kWholeLine = -2;
constexpr int64_t kLineNumber = -1;

std::string export_words(ExportContext& c, const std::string& initializer) {
  Tensor words = c.node.attr<Tensor>("vocabulary");
  if (const auto size = c.node.attr<int64_t>("vocab_size"); size > 0 && size < words.dim(0)) {
    Tensor first(DType::string, {size});
    const auto texts = words.data<std::string>().first(static_cast<size_t>(size));
    std::ranges::copy(texts, first.data<std::string>().begin());
    words = first;
  }
  return c.add_constant(initializer + "/words", words);
}

std::string export_numbers(ExportContext& c, const std::string& initializer) {
  const auto& words = c.node.attr<Tensor>("vocabulary");
  const auto size = c.node.attr<int64_t>("vocab_size");
  Tensor numbers(DType::s64, {size > 0 ? std::min(size, words.dim(0)) : words.dim(0)});
  int64_t next = 0;
  for (int64_t& number : numbers.data<int64_t>()) number = next++;
  return c.add_constant(initializer + "/numbers", numbers);
}

}  // namespace

void check_table(const InferContext& c) {
  const DType keys = c.attr<DType>("key_dtype");
  const DType values = c.attr<DType>("value_dtype");
  const bool numbers = keys == DType::string && values == DType::s64;
  if (!numbers && !(keys == DType::s64 && values == DType::string)) {
    throw invalid_argument("table, got one from {} to {}, expected string to s64 or back", keys,
                           values);
  }
}

std::string export_table(ExportContext& c) {
  const Node& node = c.node;
  const auto& table = node.attr<std::string>("_table");
  const auto& initializer = node.attr<std::string>("_initializer");
  const auto keys = node.attr<DType>("key_dtype");
  const auto values = node.attr<DType>("value_dtype");
  c.records.push_back({"HashTableV2",
                       table,
                       {},
                       {{"key_dtype", keys},
                        {"value_dtype", values},
                        {"container", std::string()},
                        {"shared_name", std::string()},
                        {"use_node_name_sharing", true}}});
  std::string handle = c.reference_record(table, "table_handle");
  const bool to_numbers = values == DType::s64;
  if (const auto& file = node.attr<std::string>("filename"); !file.empty()) {
    const auto size = node.attr<int64_t>("vocab_size");
    const std::string path = c.add_constant(initializer + "/filename", Tensor(file.c_str()));
    c.assets.emplace(path, file);
    c.records.push_back({"InitializeTableFromTextFileV2",
                         initializer,
                         {handle, path},
                         {{"key_index", to_numbers ? kWholeLine : kLineNumber},
                          {"value_index", to_numbers ? kLineNumber : kWholeLine},
                          {"vocab_size", size > 0 ? size : -1},
                          {"delimiter", std::string("\t")}}});
  } else {
    const std::string words = export_words(c, initializer);
    const std::string numbers = export_numbers(c, initializer);
    c.records.push_back({"InitializeTableV2",
                         initializer,
                         {handle, to_numbers ? words : numbers, to_numbers ? numbers : words},
                         {{"Tkey", keys}, {"Tval", values}}});
  }
  c.initializers.push_back(initializer);
  return handle;
}

AttrMap imported_table(const ImportContext& c) {
  const Node& table = *c.input(0).node();
  if (table.op_name() != "HashTableV2") {
    throw invalid_argument("table, got '{}' ({}), expected a HashTableV2", c.input(0).name(),
                           table.op_name());
  }
  AttrMap attrs;
  for (const std::string_view name : kTableAttrs) {
    attrs.emplace(name, table.attrs().find(name)->second);
  }
  return attrs;
}

}  // namespace systole
