#include "systole/train/update_ops.h"

#include <unordered_set>

#include "systole/graph/core/variable.h"
#include "systole/graph/lowering/plan.h"

namespace systole {
namespace {

using Nodes = std::unordered_set<const Node*>;

bool belongs(const Operation& update, const Nodes& loss) {
  bool shared = false;
  for (const Node* node : ancestors({update.node()})) {
    if (node->op_name() == "Placeholder" && !loss.contains(node)) return false;
    // Sharing a variable or a constant does not count.
    shared |= node->num_inputs() > 0 && node->op_name() != "ReadVariableOp" && loss.contains(node);
  }
  return shared;
}

}  // namespace

std::vector<Operation> update_ops_of(const Output& loss) {
  std::vector<Operation> found;
  const auto all = loss.graph().collection<Operation>(graph_keys::update_ops);
  if (all.empty()) return found;
  const Nodes of_loss = ancestors({loss.node()});
  for (const Operation& update : all) {
    if (belongs(update, of_loss)) found.push_back(update);
  }
  return found;
}

}  // namespace systole
