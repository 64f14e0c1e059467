// Tables from words to numbers and back. (tf.contrib.lookup)
//
// A table is read when it is first used, or by tables_initializer(), once for each session. Lookups
// run on the host. Errors when run: those of the vocabulary's file; INVALID_ARGUMENT for a word
// that is in it twice, with both lines.
#pragma once

#include <cstdint>
#include <string>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

// A handle on a table of the current graph.
class LookupTable {
 public:
  // The value for each key, at the keys' shape.
  Output lookup(const Input& keys, const NameOptions& options = {}) const;
  // The number of words, without buckets. -> s64
  Output size(Input::Where where = Input::Where::current()) const;
  // Reads the table now.
  Operation initializer() const { return initializer_; }

 private:
  friend LookupTable make_table(AttrMap attrs, std::string_view name, SourceLocation where);
  AttrMap table_attrs() const;

  AttrMap attrs_;  // of lookups: those of the table, and what they give for keys outside
  Operation initializer_;
};

struct IndexTableOptions {
  int64_t num_oov_buckets = 0;  // words outside get vocabulary size + hash % this
  int64_t vocab_size = 0;       // lines that count; 0: all
  int64_t default_value = -1;   // for words outside, when there are no buckets
  std::string name = "string_to_index";
};
// string -> s64: the number of the word's line, from 0 on; the buckets are TensorFlow's.
// (index_table_from_file, index_table_from_tensor)
LookupTable index_table_from_file(const std::string& vocabulary_file,
                                  const IndexTableOptions& options = {},
                                  Input::Where where = Input::Where::current());
LookupTable index_table_from_tensor(const Tensor& vocabulary_list,
                                    const IndexTableOptions& options = {},
                                    Input::Where where = Input::Where::current());

struct IndexToStringOptions {
  int64_t vocab_size = 0;
  std::string default_value = "UNK";  // for numbers outside
  std::string name = "index_to_string";
};
// s64 -> string, the other way round. (index_to_string_table_from_file, _from_tensor)
LookupTable index_to_string_table_from_file(const std::string& vocabulary_file,
                                            const IndexToStringOptions& options = {},
                                            Input::Where where = Input::Where::current());
LookupTable index_to_string_table_from_tensor(const Tensor& vocabulary_list,
                                              const IndexToStringOptions& options = {},
                                              Input::Where where = Input::Where::current());

// Reads all tables of the current graph. (tf.tables_initializer)
Operation tables_initializer(Input::Where where = Input::Where::current());

// hash % num_buckets of each string: FarmHash's fingerprint, as TensorFlow's. -> s64
// (tf.string_to_hash_bucket_fast)
Output string_to_hash_bucket_fast(const Input& input, int64_t num_buckets,
                                  const NameOptions& options = {});

struct CrossedBucketsOptions {
  int64_t hash_key = 0xDECAFCAFFE;  // TensorFlow's
  std::string name = {};
};
// The bucket of the hash of what columns, strings or s64 of one shape, have at each place, as
// tf.feature_column.crossed_column computes it. -> s64
Output crossed_buckets(const InputList& columns, int64_t num_buckets,
                       const CrossedBucketsOptions& options = {});

}  // namespace systole
