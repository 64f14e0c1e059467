// Nodes of GraphDef messages without protobuf: the two sides of OpDef::import_node and export_node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/op_def.h"
#include "systole/graph/core/variable.h"

namespace systole {

// The attribute of a node that an import has added: the folder of the files that it may open, ""
// for none. Nodes without it open all files. It is never written into messages.
inline constexpr std::string_view kFilesAttr = "_files";

// A node of a message, to be added to the current graph.
struct ImportContext {
  const OpDef& op;  // the op of ours that takes it
  std::string_view name;
  std::vector<Output> inputs;
  // The attributes that the op's signature declares, with defaults; an attribute of a shape of
  // unknown rank is absent. Lists of types and shapes are lists of their names.
  AttrMap attrs;
  // True when every node of the message is imported as it stands; false when some outputs are
  // computed: placeholders have their defaults, and variables are read.
  bool whole_graph = false;
  // Variables by the name that checkpoints have.
  std::map<std::string, Variable>* variables = nullptr;
  // The function that an attribute names. The first of its arguments are declared ones of the types
  // of `declared`, the others captures of `captured`.
  std::function<std::shared_ptr<Graph>(std::string_view attr_name, std::span<const Output> declared,
                                       std::span<const Output> captured)>
      function = {};
  // The value of kFilesAttr for nodes whose kernels may open files; absent: all files.
  std::optional<std::string> files = std::nullopt;

  // Errors: INVALID_ARGUMENT names the attribute.
  template <class T>
  const T& attr(std::string_view attr_name) const;
  // Errors: INVALID_ARGUMENT when there are fewer.
  const Output& input(size_t i) const;
  // The variable whose handle is input 0. Errors: INVALID_ARGUMENT when it is no handle.
  const Variable& variable() const;
  // Adds a node of `op` with these inputs and attributes.
  std::vector<Output> add(std::vector<Output> node_inputs, AttrMap node_attrs) const;
};

// A node of a message, to be written. References to tensors are as an input has them.
struct NodeRecord {
  std::string op;
  std::string name;
  std::vector<std::string> inputs;
  AttrMap attrs;
  // The registration of an op that is none of ours; else that of `op`.
  std::string_view attr_kinds = {};
};

// A node of a graph, to be written as one node or more.
struct ExportContext {
  const Node& node;
  // Refers to a value of the graph; to output `output` of another record.
  std::function<std::string(const Output& value)> reference;
  std::function<std::string(std::string_view record, std::string_view output)> reference_record;
  // What is written. A record whose name was written before is left out, so that nodes may share
  // one. The control inputs of the node go to the last.
  std::vector<NodeRecord> records = {};
  // Records that must run before others are run: those that fill tables.
  std::vector<std::string> initializers = {};
  // Files that the records read: the reference to the Const with the path, and the path.
  std::map<std::string, std::string> assets = {};
  // False when the form is one of ours, which TensorFlow cannot read.
  bool in_tensorflow = true;

  // References to all inputs of the node.
  std::vector<std::string> inputs() const;
  // Adds a Const.
  std::string add_constant(std::string name, const Tensor& value);
};

template <class T>
const T& ImportContext::attr(std::string_view attr_name) const {
  const auto it = attrs.find(attr_name);
  if (it == attrs.end() || !std::holds_alternative<T>(it->second)) {
    throw invalid_argument("attribute '{}', got none or one of another kind, expected one",
                           attr_name);
  }
  return std::get<T>(it->second);
}

}  // namespace systole
