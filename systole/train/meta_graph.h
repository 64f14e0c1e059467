// A graph with its variables as TensorFlow's MetaGraphDef: what lies beside a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/api/variable.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace systole {

// The release whose ops and messages ours are.
inline constexpr const char* kTensorFlowVersion = "1.15.0";
// The program that wrote a file, where TensorFlow has its git version.
inline constexpr const char* kWriter = "systole";

// Names the writer and the TensorFlow release of a message.
void set_writer(tensorflow::MetaGraphDef& message);

// Adds `variables` to the message's collections "variables" and, where they are trained,
// "trainable_variables".
void add_variable_collections(const Graph& graph, const std::vector<Variable>& variables,
                              tensorflow::MetaGraphDef& message);

// All of `graph`, the nodes that save and restore `variables` in TensorFlow, and the collections
// of them: the bytes of a `.meta` file. Ops that TensorFlow does not have (some gradients) stand
// there under our names: looked at, such a graph is whole; TensorFlow imports it without them.
std::string meta_graph_bytes(const Graph& graph, const std::vector<Variable>& variables);

}  // namespace systole
