// Rules that rebuild a node for a batch: inputs get a first dimension, and the outputs are those of
// all elements.
#pragma once

#include <optional>
#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// An input in the batched graph.
struct BatchedInput {
  Output value;
  bool batched = false;  // false: the same value for all elements
};
// The batched outputs; nullopt where a rule cannot give them.
using BatchResults = std::optional<std::vector<Output>>;

// One node to rebuild in the current graph. At least one input is batched.
struct BatchContext {
  Node& node;  // of the graph for one element
  std::vector<BatchedInput> inputs;
  AttrMap attrs;  // those of the node
  // With OpDef::batch_gives_bytes, for each output: the dtype of the numbers [batch, n] that its
  // bytes are wanted as; DType::invalid: as it is.
  std::vector<DType> bytes_as = {};

  Shape element_shape(size_t i) const { return node.input(static_cast<int>(i)).shape(); }
  bool only_first_batched() const;
  bool all_batched() const;
  std::vector<Output> values() const;
  // The integers of an input when they are constant.
  std::optional<std::vector<int64_t>> constant_ints(int input) const;

  // Adds a node of the same op, or of `op`, under the same name.
  std::vector<Output> rebuild(std::vector<Output> node_inputs, AttrMap node_attrs,
                              std::string_view op = {}) const;
  std::vector<Output> rebuild() const { return rebuild(values(), attrs); }
};

// Axes of an element as axes of the batch: negative ones count from the end, so they stay.
std::vector<int64_t> axes_after_batch(std::vector<int64_t> axes);

// For ops that broadcast their inputs and compute each element from those at its place.
BatchResults batch_elementwise(const BatchContext& c);
// For elementwise ops that do not broadcast: inputs have one shape, or are scalars for all.
BatchResults batch_same_shape(const BatchContext& c);
// For ops that take any shape of their first input; the others must not be batched.
BatchResults batch_first_input(const BatchContext& c);
// For ops that take any shape when all inputs have it.
BatchResults batch_all_inputs(const BatchContext& c);
// For ops of (x, axes).
BatchResults batch_axes_input(const BatchContext& c);
// For ops with an attribute "axis".
BatchResults batch_axis_attr(const BatchContext& c);

}  // namespace systole
