// Writes a graph and its variables as TensorFlow's MetaGraphDef, the `.meta` file of a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace systole {

// The TensorFlow release whose ops and messages are written.
inline constexpr const char* kTensorFlowVersion = "1.15.0";
// The program that wrote a file, where TensorFlow has its git version.
inline constexpr const char* kWriter = "systole";

// Names the writer and the TensorFlow release of a message.
void set_writer(tensorflow::MetaGraphDef& message);

// Adds `variables` to the message's collections "variables" and "trainable_variables".
void add_variable_collections(const Graph& graph, const std::vector<Variable>& variables,
                              tensorflow::MetaGraphDef& message);

// Returns the bytes of a `.meta` file: the graph, the nodes by which TensorFlow saves and restores
// `variables`, and their collections. Ops that TensorFlow lacks (some gradients) keep our names:
// viewers show them, TensorFlow's importer skips them.
std::string meta_graph_bytes(const Graph& graph, const std::vector<Variable>& variables);

}  // namespace systole
