// Graphs as TensorFlow's GraphDef messages, both ways.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace systole {

// All nodes of `graph`, or those that `wanted` need, with TensorFlow's op names and attributes;
// functions (branches and bodies of loops) go to the library. Ops of ours that TensorFlow does not
// have (some gradients) are written under our names.
std::unique_ptr<tensorflow::GraphDef> to_graph_def(const Graph& graph,
                                                   std::span<const Operation> wanted = {});

// The message, and what else a file must say so that its outputs can be computed.
struct ExportedGraph {
  ExportedGraph();
  ~ExportedGraph();
  ExportedGraph(ExportedGraph&&) noexcept;

  std::unique_ptr<tensorflow::GraphDef> message;
  // Nodes to run once before others: they fill lookup tables.
  std::vector<std::string> initializers;
  // Files that nodes read: the Const with the path, and the path.
  std::map<std::string, std::string> assets;
};
ExportedGraph export_graph_def(const Graph& graph, std::span<const Operation> wanted = {});

// What TensorFlow does not have of the nodes that `wanted` need, of the functions that they run,
// and of `results`: names of ops, and outputs of ops in words; sorted.
std::vector<std::string> ops_unknown_to_tensorflow(const Graph& graph,
                                                   std::span<const Operation> wanted,
                                                   std::span<const Output> results = {});

struct ImportOptions {
  // Tensors of the message ("x:0") and what stands for them; their own nodes are not imported.
  std::map<std::string, Output> inputs;
  // Tensors wanted: what they need is imported, to be computed. Placeholders must be among `inputs`
  // (those with a default have it), variables are read at their value of the start of a run, and
  // control inputs are dropped. Empty: all nodes are imported as they stand, with their control
  // inputs.
  std::vector<std::string> outputs;
  // A graph is a program. What it reads and writes is limited to this folder; "": it opens no file.
  // See SECURITY.md.
  std::string asset_folder;
  // Lets its nodes open every file and bucket that this process can: for graphs that are trusted.
  bool allow_files = false;
  // For messages: the file.
  std::string what = "GraphDef";
};

struct ImportedGraph {
  std::vector<Output> outputs;  // as ImportOptions::outputs
  // Variables by the name that checkpoints have. Of a whole graph, those that a node initialises
  // and another reads.
  std::map<std::string, Variable> variables;
};

// Adds the nodes of a message to the current graph, under their names. A graph of to_graph_def()
// computes what it computed, random ops draw what they drew. Of other graphs: variables of
// TensorFlow 1 (VariableV2) and 2 become ours; ops that only other releases have become those here
// (BatchMatMul, AddV2, Pad, FusedBatchNorm for inference...). Errors: UNIMPLEMENTED names every op
// that we do not have, with how many nodes; INVALID_ARGUMENT for a graph that contradicts itself, a
// cycle, and a placeholder that no input stands for, with the node; NOT_FOUND for an output or an
// input of a node that is not there; RESOURCE_EXHAUSTED for constants of more than 2^27 elements
// that are not in the message.
ImportedGraph import_graph_def(const tensorflow::GraphDef& message, const ImportOptions& options);

// -- Without protobuf's headers.

// The same of the bytes of a message. Errors: DATA_LOSS when they do not parse.
ImportedGraph import_graph_def(std::string_view bytes, const ImportOptions& options = {});
// The same of a file: a GraphDef in bytes or (*.pbtxt) in text, or (*.meta) a MetaGraphDef with
// one.
ImportedGraph import_graph_def_file(const std::string& path, ImportOptions options = {});
// The message as bytes: what EventWriter::add_graph takes.
std::string graph_def_bytes(const Graph& graph, std::span<const Operation> wanted = {});
// Writes the message into a file, as text when the path ends in ".pbtxt". (tf.io.write_graph)
void write_graph_def(const Graph& graph, const std::string& path,
                     std::span<const Operation> wanted = {});

}  // namespace systole
