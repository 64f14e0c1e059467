// The nodes of a graph that a run or a function needs, in the order in which they run.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

struct Plan {
  std::vector<Node*> order;  // by id: inputs and control inputs first
  std::unordered_set<Output> needed;
};

// What `fetches` and `targets` depend on, by data and by control, stopping at fed outputs.
// Errors: INVALID_ARGUMENT: a fetch of another graph; a placeholder that is not fed, with the fetch
// that needs it.
Plan plan_run(const Graph& graph, std::span<const Output> fetches, std::span<Node* const> targets,
              const std::unordered_set<Output>& fed);

// What a function's results depend on, and all nodes with an effect.
Plan plan_function(const Graph& function);

// The roots and all that they depend on, by data and by control.
std::unordered_set<const Node*> ancestors(std::vector<const Node*> roots);

// True when the node, or one in its functions, runs for an effect.
bool has_effect(const Node& node);

}  // namespace systole
