// What the ops that parse tf.Example carry as attributes: TensorFlow's sparse_keys, sparse_types,
// dense_keys, Tdense and dense_shapes, lists as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// A node's inputs are the serialized records, then a default for each dense key (without elements:
// the feature is required). Its outputs: for each sparse key values and lengths, then one for each
// dense key.
struct ExampleSchema {
  struct Sparse {
    std::string key;
    DType dtype;
  };
  struct Dense {
    std::string key;
    DType dtype;
    Shape shape;            // of one item
    bool variable = false;  // any number of items
    // For a string scalar: its bytes are given as numbers of this dtype, [batch, n], all of one
    // length. What DecodeRaw would make of it, without the strings between.
    DType raw = DType::invalid;
  };
  std::vector<Sparse> sparse;
  std::vector<Dense> dense;

  // Errors: INVALID_ARGUMENT names the key.
  explicit ExampleSchema(const FeatureSpecs& features);
  // Reads the attributes of a node. Errors: INVALID_ARGUMENT when the lists do not fit.
  explicit ExampleSchema(const AttrMap& attrs);
  AttrMap attrs() const;
  // The results for records of this shape: [] or [batch].
  std::vector<TensorType> result_types(const Shape& records) const;
};

// Adds a node of "ParseExample" or "ParseSingleExample".
Nest<Output> add_parser(std::string_view op, const Input& serialized, const FeatureSpecs& features,
                        const NameOptions& options);
// Inference of both.
std::vector<TensorType> infer_parser(const InferContext& c, int rank);
// Import of both in this form.
std::vector<Output> import_parser(const ImportContext& c);

}  // namespace systole
