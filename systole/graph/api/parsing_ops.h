// Records into tensors: raw bytes, comma-separated values, tf.Example.
// (tensorflow/python/ops/parsing_ops.py)
//
// All run on the host; no gradient. Errors when run: INVALID_ARGUMENT with the record, the field or
// the feature's key, what is there, the node and the user's line.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "systole/base/nest.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

struct DecodeRawOptions {
  bool little_endian = true;
  std::string name = {};
};
// The bytes of each string as numbers: [..] -> [.., bytes / size]. All strings have one length.
// (tf.decode_raw)
Output decode_raw(const Input& bytes, DType out_type, const DecodeRawOptions& options = {});

struct DecodeCsvOptions {
  std::string field_delim = ",";
  bool use_quote_delim = true;            // "a field, ""quoted"""
  std::string na_value = {};              // taken for a missing field, besides the empty one
  std::vector<int64_t> select_cols = {};  // ascending; all columns when empty
  std::string name = {};
};
// The fields of lines of RFC 4180: one tensor of the shape of `records` a column.
// `record_defaults`: for each column that is wanted a tensor of its dtype (f32, f64, s32, s64 or
// string) with one element, the value of a missing field, or with none, where the field is
// required. (tf.decode_csv)
std::vector<Output> decode_csv(const Input& records, const std::vector<Tensor>& record_defaults,
                               const DecodeCsvOptions& options = {});

// -- tf.Example. Dtypes of features are s64, f32 and string.

// A feature of `shape` in every record. With a default, records may lack it.
struct FixedLenFeature {
  Shape shape;
  DType dtype = DType::f32;
  std::optional<Tensor> default_value = std::nullopt;  // of `shape`, or a scalar that fills it
};
// A feature of any number of values; absent is none. Given as a dict of two tensors: "values",
// [n] of a record or [batch, longest] of a batch, filled up with zeros or "", and "lengths", s64 []
// or [batch].
struct VarLenFeature {
  DType dtype = DType::f32;
};
// Any number of items of `shape`: [n, shape..] of a record, [batch, longest, shape..] of a batch,
// filled up with the default.
struct FixedLenSequenceFeature {
  Shape shape;
  DType dtype = DType::f32;
  bool allow_missing = false;  // a record without it has no items; else it is an error
  std::optional<Tensor> default_value = std::nullopt;  // a scalar; zero or "" when absent
};
using FeatureSpec = std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature>;
using FeatureSpecs = std::map<std::string, FeatureSpec, std::less<>>;

// The features of one serialized tf.Example, a string scalar, by key. (tf.parse_single_example)
Nest<Output> parse_single_example(const Input& serialized, const FeatureSpecs& features,
                                  const NameOptions& options = {});
// Parses a vector of them: the faster way where there are many. (tf.parse_example)
Nest<Output> parse_example(const Input& serialized, const FeatureSpecs& features,
                           const NameOptions& options = {});

}  // namespace systole
