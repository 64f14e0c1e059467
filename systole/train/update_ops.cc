#include "systole/train/update_ops.h"

#include <unordered_set>

#include "systole/graph/variable.h"

namespace systole {
namespace {

using Nodes = std::unordered_set<const Node*>;

// The node and all that it is computed from.
Nodes ancestors(const Node* node) {
  Nodes seen;
  std::vector<const Node*> to_visit = {node};
  while (!to_visit.empty()) {
    const Node* next = to_visit.back();
    to_visit.pop_back();
    if (!seen.insert(next).second) continue;
    for (const Output& input : next->inputs()) to_visit.push_back(input.node());
    for (const Node* control : next->control_inputs()) to_visit.push_back(control);
  }
  return seen;
}

bool belongs(const Operation& update, const Nodes& loss) {
  bool shared = false;
  for (const Node* node : ancestors(update.node())) {
    if (node->op_name() == "Placeholder" && !loss.contains(node)) return false;
    // Variables and constants are shared by whatever uses them.
    shared |= node->num_inputs() > 0 && node->op_name() != "ReadVariableOp" && loss.contains(node);
  }
  return shared;
}

}  // namespace

std::vector<Operation> update_ops_of(const Output& loss) {
  std::vector<Operation> found;
  const auto all = loss.graph().collection<Operation>(graph_keys::update_ops);
  if (all.empty()) return found;
  const Nodes of_loss = ancestors(loss.node());
  for (const Operation& update : all) {
    if (belongs(update, of_loss)) found.push_back(update);
  }
  return found;
}

}  // namespace systole
