// Graphs with placeholders of unknown rank, for the ranks of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// Returns a placeholder of unknown rank (tf.placeholder without a shape). It stands in the graph as
// a scalar; for a fed value of another rank a RankedCopy of what depends on it is built.
Output unranked_placeholder(DType dtype, std::string_view name = "Placeholder",
                            Input::Where where = Input::Where::current());

// The placeholders of unknown rank that `value` depends on, in the order of the graph.
std::vector<Output> unranked_placeholders(const Output& value);

// The part of a graph that depends on placeholders of unknown rank, for some ranks of these. Its
// nodes stand in the graph itself, in the scope "ranked", and the same ranks give the same nodes.
// Adds nodes: as for a Graph, one thread at a time.
class RankedCopy {
 public:
  struct Rank {
    Output placeholder;  // of unknown rank
    int rank;            // 0 or more
  };
  // `ranks`: 64 at most, each placeholder once.
  RankedCopy(Graph& graph, std::vector<Rank> ranks);

  // What stands for a value or an operation of the graph: itself where it depends on no placeholder
  // of `ranks`. Errors: those of Graph::add_node, where an op does not work on values of these
  // ranks.
  Output of(const Output& value);
  Operation of(const Operation& operation);

 private:
  // The placeholders that a node depends on, a bit each. REQUIRES: known for its inputs.
  uint64_t dependencies_of(const Node& node) const;
  void visit(Node& root);
  std::string name_of(const Node& node, uint64_t dependencies) const;
  Node* copy(Node& node, uint64_t dependencies);
  std::vector<Output> copied_inputs(const Node& node, const std::string& name) const;
  Node* copied(Node* node) const;

  struct Visited {
    uint64_t dependencies;
    Node* copy;  // the node itself where it has no dependencies
  };
  Graph& graph_;
  std::vector<Rank> ranks_;
  std::unordered_map<const Node*, Visited> visited_;
};

}  // namespace systole
