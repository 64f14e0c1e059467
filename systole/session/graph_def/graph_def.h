// Graphs as TensorFlow's GraphDef messages, both ways.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/api/variable.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace systole {

// All nodes of `graph`, or those that `wanted` need, with TensorFlow's op names and attributes;
// functions (branches and bodies of loops) go to the library. Ops of ours that TensorFlow does not
// have (some gradients) are written under our names.
std::unique_ptr<tensorflow::GraphDef> to_graph_def(const Graph& graph,
                                                   std::span<const Operation> wanted = {});
// The same as bytes: what EventWriter::add_graph takes.
std::string graph_def_bytes(const Graph& graph);

// What TensorFlow does not have of the nodes that `wanted` need, of the functions that they run,
// and of `results`: names of ops, and outputs of ops in words; sorted.
std::vector<std::string> ops_unknown_to_tensorflow(const Graph& graph,
                                                   std::span<const Operation> wanted,
                                                   std::span<const Output> results = {});

struct ImportOptions {
  // Tensors of the message ("x:0") and what stands for them; their own nodes are not imported.
  std::map<std::string, Output> inputs;
  // Tensors wanted; only nodes that they need are imported.
  std::vector<std::string> outputs;
  // The message is of to_graph_def(): ops that have TensorFlow's names and other results
  // (string_split, lists of features, tables) are taken, and random ops draw what they drew there.
  bool ours = false;
  // For messages: the file.
  std::string what = "GraphDef";
};

struct ImportedGraph {
  std::vector<Output> outputs;  // as ImportOptions::outputs
  // Variables by the name that checkpoints have; each is used at its value of the start of a run.
  std::map<std::string, Variable> variables;
};

// Adds to the current graph what `outputs` need, with the names of the message. Variables of
// TensorFlow 1 (VariableV2) and 2 become ours; ops that only other releases have become theirs of
// ours (BatchMatMul, AddV2, Pad, FusedBatchNorm for inference...). Errors: UNIMPLEMENTED names
// every op that we do not have, with how many nodes; INVALID_ARGUMENT for a graph that contradicts
// itself, a cycle, and a placeholder that no input stands for, with the node; NOT_FOUND for an
// output or an input of a node that is not there.
ImportedGraph import_graph_def(const tensorflow::GraphDef& message, const ImportOptions& options);

}  // namespace systole
