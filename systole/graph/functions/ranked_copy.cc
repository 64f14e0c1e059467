#include "systole/graph/functions/ranked_copy.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/op_signature.h"
#include "systole/graph/core/unranked.h"
#include "systole/graph/core/where_scope.h"

namespace systole {
namespace {

// Calls f(node) for what a node needs: its inputs, and what runs before it.
template <class F>
void for_each_needed(const Node& node, F&& f) {
  for (const Output& input : node.inputs()) f(input.node());
  for (Node* control : node.control_inputs()) f(control);
}

// All that `root` needs and is not `done`, and `root`: inputs before their users.
template <class Done>
std::vector<Node*> in_order(Node& root, Done&& done) {
  std::vector<Node*> order;
  std::unordered_set<const Node*> opened;
  std::vector<Node*> stack{&root};
  std::unordered_set<const Node*> closed;
  while (!stack.empty()) {
    Node* node = stack.back();
    if (opened.insert(node).second) {
      for_each_needed(*node, [&](Node* needed) {
        if (!opened.contains(needed) && !done(*needed)) stack.push_back(needed);
      });
      continue;
    }
    stack.pop_back();
    if (closed.insert(node).second) order.push_back(node);
  }
  return order;
}

bool is_unranked_placeholder(const Node& node) {
  return node.op_name() == "Placeholder" && is_unranked(node);
}

bool is_reduction(const Node& node) {
  const OpSignature& signature = signature_of(node.op());
  return signature.inputs.size() == 2 && signature.inputs[1].name == "reduction_indices";
}

}  // namespace

Output unranked_placeholder(DType dtype, std::string_view name, Input::Where where) {
  return Graph::current()
      .add_node("Placeholder", {},
                {{"dtype", dtype}, {"shape", Shape()}, {std::string(kUnranked), true}}, where, name)
      ->output();
}

std::vector<Output> unranked_placeholders(const Output& value) {
  std::vector<Output> found;
  for (Node* node : in_order(*value.node(), [](const Node& n) { return !is_unranked(n); })) {
    if (is_unranked_placeholder(*node)) found.push_back(node->output());
  }
  std::ranges::sort(found, {}, [](const Output& output) { return output.node()->id(); });
  return found;
}

RankedCopy::RankedCopy(Graph& graph, std::vector<Rank> ranks)
    : graph_(graph), ranks_(std::move(ranks)) {
  std::ranges::sort(ranks_, {}, [](const Rank& rank) { return rank.placeholder.node()->id(); });
}

Output RankedCopy::of(const Output& value) {
  visit(*value.node());
  return {copied(value.node()), value.index()};
}

Operation RankedCopy::of(const Operation& operation) {
  visit(*operation.node());
  return copied(operation.node());
}

Node* RankedCopy::copied(Node* node) const { return visited_.at(node).copy; }

void RankedCopy::visit(Node& root) {
  const auto done = [this](const Node& node) { return visited_.contains(&node); };
  if (done(root)) return;
  for (Node* node : in_order(root, done)) {
    const uint64_t dependencies = dependencies_of(*node);
    visited_[node] = {dependencies, dependencies == 0 ? node : copy(*node, dependencies)};
  }
}

uint64_t RankedCopy::dependencies_of(const Node& node) const {
  uint64_t all = 0;
  for_each_needed(node, [&](Node* needed) { all |= visited_.at(needed).dependencies; });
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].placeholder.node() == &node) all |= uint64_t{1} << i;
  }
  return all;
}

// The name tells all that the copy depends on: "ranked/0.1_1.2/add".
std::string RankedCopy::name_of(const Node& node, uint64_t dependencies) const {
  std::string name = "ranked/";
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if ((dependencies >> i & 1) == 0) continue;
    if (name.back() != '/') name += '_';
    name += fmt::format("{}.{}", ranks_[i].placeholder.node()->id(), ranks_[i].rank);
  }
  return name + "/" + node.name();
}

Node* RankedCopy::copy(Node& node, uint64_t dependencies) {
  const std::string name = name_of(node, dependencies);
  if (Node* made = graph_.find_node(name)) return made;
  const GraphScope scope(graph_);
  const NameScope top("/");
  const WhereScope where(node.where(), true);
  std::vector<Operation> before;
  for (Node* control : node.control_inputs()) before.emplace_back(copied(control));
  const ControlDependencies none(nullptr);
  const ControlDependencies after(before);
  AttrMap attrs = node.attrs();
  attrs.erase(std::string(kUnranked));
  for (const Rank& rank : ranks_) {
    if (rank.placeholder.node() != &node) continue;
    attrs["shape"] = Shape(Dims(static_cast<size_t>(rank.rank), kUnknown));
  }
  return graph_.add_node(node.op_name(), copied_inputs(node, name), std::move(attrs), node.where(),
                         name);
}

std::vector<Output> RankedCopy::copied_inputs(const Node& node, const std::string& name) const {
  std::vector<Output> inputs;
  for (const Output& input : node.inputs())
    inputs.emplace_back(copied(input.node()), input.index());
  if (!is_reduction(node) || node.input(0).shape().rank() > 0) return inputs;
  // What reduces a scalar reduces all axes, and none that were named.
  std::vector<int32_t> axes(static_cast<size_t>(inputs[0].shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const Tensor all = Tensor::of<int32_t>({static_cast<int64_t>(axes.size())}, axes);
  inputs[1] = constant(all, {.name = name + "/reduction_indices"});
  return inputs;
}

}  // namespace systole
