// What a user-level op is: one OpDef in one file of graph/ops.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/hlo/ir/builder.h"

namespace systole {

class Lowering;

// Shape inference: what a node's inputs and attributes are. Dimensions may be unknown.
struct InferContext {
  std::string_view op_name;
  std::span<const Output> inputs;
  const AttrMap& attrs;

  const TensorType& input(int i) const { return inputs[static_cast<size_t>(i)].type(); }
  int num_inputs() const { return static_cast<int>(inputs.size()); }
  template <class T>
  const T& attr(std::string_view name) const;
  // The value of an input that is known while building (constants, and shapes computed from them).
  std::optional<Tensor> constant_input(int i) const;
  // An integer vector input as a shape: dimensions that are not known yet are -1; nullopt when not
  // even its length is known.
  std::optional<Shape> input_as_shape(int i) const;
};

// Lowering of one node: static shapes, values in HLO. Read shapes from `inputs`, not from the node.
struct LowerContext {
  const Node& node;
  hlo::Builder& b;
  std::span<const hlo::Value> inputs;
  Lowering& lowering;

  hlo::Value input(int i) const { return inputs[static_cast<size_t>(i)]; }
  int num_inputs() const { return static_cast<int>(inputs.size()); }
  template <class T>
  const T& attr(std::string_view name) const {
    return node.attr<T>(name);
  }
  // The value of an input that must be known when the program is compiled (a shape, an axis).
  // Errors: INVALID_ARGUMENT `<op>: input <i> must be known when the program is compiled`.
  Tensor constant_input(int i) const;
  std::vector<int64_t> constant_ints(int i) const;
};

// Reverse-mode gradient of one node, written in user ops.
struct GradientContext {
  Node& node;
  // dL/d(output i); invalid where that output does not matter. `grad(i)` is zeros there.
  std::span<const Output> output_gradients;
  // For each input whether its gradient is of any use; one that is not may be invalid.
  const std::vector<bool>& inputs_wanted;

  bool wanted(int i) const { return inputs_wanted[static_cast<size_t>(i)]; }
  Output input(int i) const { return node.input(i); }
  Output output(int i = 0) const { return node.output(i); }
  Output grad(int i = 0) const;
  template <class T>
  const T& attr(std::string_view name) const {
    return node.attr<T>(name);
  }
};

// What a host op may know of the system that runs it.
struct HostEnvironment {
  std::string target;  // "", "local", ...
  bool is_tpu = false;
  int num_hosts = 1;
  int num_cores = 1;  // of all hosts together
};

// Evaluation of one node on the host: strings, IO, the system itself. Inputs come from feeds,
// constants and other host ops; what a device program reads of its results is fed to it.
struct HostContext {
  const Node& node;
  std::span<const Tensor> inputs;
  const HostEnvironment& environment;
};

// Named fields; everything not named is absent. The TensorFlow name and attributes are kept so that
// a graph can be written as a GraphDef.
struct OpDef {
  std::string_view name;  // "MatMul"
  std::string_view doc;   // a sentence, for the op reference
  // Result types. Errors: INVALID_ARGUMENT `<what>, got <value>, expected <value>` (the op and node
  // are added).
  std::vector<TensorType> (*infer)(const InferContext&) = nullptr;
  std::vector<hlo::Value> (*lower)(LowerContext&) = nullptr;
  // One Output an input; an invalid one where the input gets no gradient. Null: gradients() through
  // it is an error that names the op, unless `blocks_gradient`.
  std::vector<Output> (*gradient)(GradientContext&) = nullptr;
  // Null unless the op runs on the host, before the device program of the same run.
  std::vector<Tensor> (*host)(HostContext&) = nullptr;
  bool blocks_gradient =
      false;              // integers, comparisons, stop_gradient: the gradient ends here silently
  bool stateful = false;  // random, variables: never merged, values differ from run to run
};

// All ops, made by the build from the folder graph/ops.
std::span<const OpDef* const> all_op_defs();
// Errors: NOT_FOUND with near misses.
const OpDef& find_op_def(std::string_view name);

template <class T>
const T& InferContext::attr(std::string_view name) const {
  const auto it = attrs.find(name);
  if (it == attrs.end() || !std::holds_alternative<T>(it->second)) {
    throw internal_error("{}: attribute '{}' is missing or of another type", op_name, name);
  }
  return std::get<T>(it->second);
}

}  // namespace systole
