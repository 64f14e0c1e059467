// What a user-level op is: one OpDef in one file of graph/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/hlo/ir/builder.h"

namespace systole {

class Lowering;

// Shape inference: what a node's inputs and attributes are. Dimensions may be unknown.
struct InferContext {
  std::string_view op_name;
  std::span<const Output> inputs;
  const AttrMap& attrs;

  const TensorType& input(int i) const { return inputs[i].type(); }
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

  hlo::Value input(int i) const { return inputs[i]; }
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

  bool wanted(int i) const { return inputs_wanted[i]; }
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

// A node of a GraphDef that is to be added to the current graph, and its form in a file: see
// graph/core/graph_def_node.h. One node to rebuild for a batch: see graph/batching/batch_rule.h.
struct ImportContext;
struct ExportContext;
struct BatchContext;
struct PartialValue;

// How TensorFlow has the op of this name.
enum class TensorFlowOp : uint8_t {
  same,   // with these inputs, outputs and attributes
  other,  // with others: nodes of ours are marked, and no other node is imported
  none,   // not at all
};

// What the result of an op has of the first input.
enum class PassesOn : uint8_t {
  nothing,
  elements,  // the elements in their order, under another shape or without a gradient: Reshape
  declared,  // the value, whose shape is declared and checked: EnsureShape
  value,     // the value as it is, and its gradient: Identity
};

// How a GraphDef holds nodes of an op.
struct OpInGraphDef {
  // Other TensorFlow ops of the same meaning, inputs and attributes: imported as this one.
  // Separated by spaces.
  std::string_view aliases = {};
  // TensorFlow ops that give the resource of this op its content: they take its handle, then the
  // content. An import of this op gets their other inputs and their attributes, and their name as
  // "_initializer".
  std::string_view filled_by = {};
  // Adds what a node of a GraphDef means, and returns its outputs. Null: a node of this op with the
  // same inputs and attributes.
  std::vector<Output> (*import_node)(const ImportContext&) = nullptr;
  // Writes a node in TensorFlow's form. Null: with the same inputs and attributes.
  void (*export_node)(ExportContext&) = nullptr;
  // Why no file can hold a node of this op: "it calls a function of the program". Empty: one can.
  std::string_view impossible = {};
  TensorFlowOp tensorflow = TensorFlowOp::same;
};

// How an op of the host is computed for a batch of inputs at once.
struct OpBatching {
  // Rebuilds the node for a batch of inputs; nullopt where it cannot. Null: never.
  std::optional<std::vector<Output>> (*rule)(const BatchContext&) = nullptr;
  // True when the sizes of the result depend on the value of an input, so that the results for the
  // rows of a batch may differ in shape.
  bool ragged = false;
  // True when the rule can give scalar strings as the numbers that `reads_bytes_as` of their user
  // tells: BatchContext::bytes_as.
  bool gives_bytes = false;
};

// What other code may assume of an op.
struct OpTraits {
  // True for integers, comparisons, stop_gradient: the gradient ends here without an error.
  bool blocks_gradient = false;
  // True when values differ from run to run (random numbers, variables): nodes are never merged.
  bool stateful = false;
  // True when each run draws new random numbers.
  bool draws_random = false;
  // True when the op moves elements without looking into them (or compares them for equality), so
  // that it works on strings, too.
  bool moves_elements = false;
  // (A read of a variable passes on those of the variable.)
  PassesOn passes_on = PassesOn::nothing;
  // True when a step holds no memory for the result: it is computed again where it is used, or is
  // counted as an input or a variable.
  bool costs_no_memory = false;
  // True when attributes and static shapes tell the result, so that each program that needs it
  // computes it itself.
  bool static_source = false;
};

// Everything about an op: import, export, batching and constant evaluation read it here alone.
// Named fields; a field not named is absent.
struct OpDef {
  std::string_view name;  // TensorFlow's: "MatMul"
  std::string_view doc;   // a sentence, for the op reference

  // The op as TensorFlow registers it, in its notation (graph/core/op_signature.h): "a: T, b: T".
  std::string_view inputs = {};
  std::string_view outputs = {};
  // Attributes but those that the inputs imply (T, N): "strides: list(int), axis: int = -1".
  std::string_view attrs = {};
  OpInGraphDef graph_def = {};

  // Returns the result types. Errors: INVALID_ARGUMENT `<what>, got <value>, expected <value>` (the
  // caller adds the op and the node).
  std::vector<TensorType> (*infer)(const InferContext&) = nullptr;
  // Null for an op of the host.
  std::vector<hlo::Value> (*lower)(LowerContext&) = nullptr;
  // Returns one Output an input; an invalid one where the input gets no gradient. Null: gradients()
  // through the op is an error that names it, unless it blocks gradients.
  std::vector<Output> (*gradient)(GradientContext&) = nullptr;
  // Null unless the op runs on the host, before the device program of the same run.
  std::vector<Tensor> (*host)(HostContext&) = nullptr;
  // Computes an output's value, or the elements of it that are known, while the graph is built; for
  // ops on shapes. Null: no element is known.
  std::optional<PartialValue> (*constant_rule)(const Output& value) = nullptr;
  // For an op that reads strings as numbers: returns the dtype of the numbers whose memory the
  // bytes of the first input are; nullopt where the node reads them in another way. Null: another
  // op.
  std::optional<DType> (*reads_bytes_as)(const Node&) = nullptr;
  OpBatching batch = {};
  OpTraits traits = {};
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
