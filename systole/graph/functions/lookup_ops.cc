#include "systole/graph/api/lookup_ops.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/core/variable.h"

namespace systole {
namespace {

constexpr std::string_view kTableInitializers = "table_initializer";

AttrMap vocabulary(const std::string& file, const Tensor& words, int64_t vocab_size) {
  return {{"filename", file}, {"vocabulary", words}, {"vocab_size", vocab_size}};
}

void check_words(const Tensor& words, SourceLocation where) {
  if (words.dtype() == DType::string && words.rank() == 1) return;
  throw at_line(invalid_argument("lookup table: vocabulary_list, got {}, expected a vector of "
                                 "strings",
                                 words.type()),
                where);
}

AttrMap index_attrs(AttrMap attrs, const IndexTableOptions& options, SourceLocation where) {
  if (options.num_oov_buckets < 0 || options.vocab_size < 0) {
    throw at_line(invalid_argument("index_table: num_oov_buckets and vocab_size, got {} and {}, "
                                   "expected >= 0",
                                   options.num_oov_buckets, options.vocab_size),
                  where);
  }
  attrs.emplace("key_dtype", DType::string);
  attrs.emplace("value_dtype", DType::s64);
  attrs.emplace("num_oov_buckets", options.num_oov_buckets);
  attrs.emplace("default_value", Tensor(options.default_value));
  return attrs;
}

AttrMap string_attrs(AttrMap attrs, const IndexToStringOptions& options) {
  attrs.emplace("key_dtype", DType::s64);
  attrs.emplace("value_dtype", DType::string);
  attrs.emplace("num_oov_buckets", int64_t{0});
  attrs.emplace("default_value", Tensor(options.default_value.c_str()));
  return attrs;
}

}  // namespace

LookupTable make_table(AttrMap attrs, std::string_view name, SourceLocation where) {
  LookupTable table;
  Graph& graph = Graph::current();
  const NameScope scope(name);
  attrs.emplace("_table", scope.name() + "hash_table");
  attrs.emplace("_initializer", scope.name() + "table_init");
  table.attrs_ = std::move(attrs);
  table.initializer_ =
      graph.add_node("InitializeTable", {}, table.table_attrs(), where, "table_init");
  graph.add_to_collection(kTableInitializers, table.initializer_);
  return table;
}

Output LookupTable::size(Input::Where where) const {
  return Graph::current().add_node("LookupTableSizeV2", {}, table_attrs(), where)->output();
}

AttrMap LookupTable::table_attrs() const {
  AttrMap attrs = attrs_;
  for (const char* of_lookups : {"num_oov_buckets", "default_value"}) attrs.erase(of_lookups);
  return attrs;
}

Output LookupTable::lookup(const Input& keys, const NameOptions& options) const {
  return Graph::current()
      .add_node("LookupTableFindV2", {resolve("LookupTableFindV2", keys)}, attrs_, keys.where(),
                options.name)
      ->output();
}

LookupTable index_table_from_file(const std::string& vocabulary_file,
                                  const IndexTableOptions& options, Input::Where where) {
  return make_table(
      index_attrs(vocabulary(vocabulary_file, {}, options.vocab_size), options, where),
      options.name, where);
}

LookupTable index_table_from_tensor(const Tensor& vocabulary_list, const IndexTableOptions& options,
                                    Input::Where where) {
  check_words(vocabulary_list, where);
  return make_table(
      index_attrs(vocabulary("", vocabulary_list, options.vocab_size), options, where),
      options.name, where);
}

LookupTable index_to_string_table_from_file(const std::string& vocabulary_file,
                                            const IndexToStringOptions& options,
                                            Input::Where where) {
  return make_table(string_attrs(vocabulary(vocabulary_file, {}, options.vocab_size), options),
                    options.name, where);
}

LookupTable index_to_string_table_from_tensor(const Tensor& vocabulary_list,
                                              const IndexToStringOptions& options,
                                              Input::Where where) {
  check_words(vocabulary_list, where);
  return make_table(string_attrs(vocabulary("", vocabulary_list, options.vocab_size), options),
                    options.name, where);
}

Operation tables_initializer(Input::Where where) {
  const ControlDependencies after(Graph::current().collection<Operation>(kTableInitializers));
  return no_op("init_all_tables", where);
}

}  // namespace systole
