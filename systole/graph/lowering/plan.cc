#include "systole/graph/lowering/plan.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

class Planner {
 public:
  explicit Planner(const std::unordered_set<Output>& fed) : fed_(fed) {}

  void add_root(const Output& output) {
    need(output);
    drain(output.name());
  }

  void add_root(Node* node) {
    enter(node);
    drain(node->name());
  }

  Plan finish() {
    std::ranges::sort(plan_.order, {}, &Node::id);
    return std::move(plan_);
  }

 private:
  void need(const Output& output) {
    plan_.needed.insert(output);
    if (!fed_.contains(output)) enter(output.node());
  }

  void enter(Node* node) {
    if (seen_.insert(node).second) pending_.push_back(node);
  }

  void drain(const std::string& root) {
    while (!pending_.empty()) {
      Node* node = pending_.back();
      pending_.pop_back();
      if (node->op_name() == "Placeholder") throw_not_fed(*node, root);
      plan_.order.push_back(node);
      for (const Output& input : node->inputs()) need(input);
      for (Node* control : node->control_inputs()) enter_control(control);
    }
  }

  // Waiting for a value that is fed, or for what the host ran before this, is waiting for nothing.
  void enter_control(Node* node) {
    if (node->op().host != nullptr) return;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (fed_.contains(node->output(i))) return;
    }
    enter(node);
  }

  [[noreturn]] static void throw_not_fed(const Node& node, const std::string& root) {
    throw invalid_argument(
        "run: placeholder '{}' is needed by '{}', got no value for it, expected a feed of {}, {}",
        node.name(), root, node.output_types()[0], node.describe());
  }

  const std::unordered_set<Output>& fed_;
  std::unordered_set<Node*> seen_;
  std::vector<Node*> pending_;
  Plan plan_;
};

}  // namespace

bool has_effect(const Node& node) {
  if (node.op().traits.stateful && node.num_outputs() == 0) return true;
  return std::ranges::any_of(node.attrs(), [](const auto& attr) {
    const auto* function = std::get_if<FunctionRef>(&attr.second);
    return function != nullptr &&
           std::ranges::any_of((*function)->nodes(), [](const auto& n) { return has_effect(*n); });
  });
}

Plan plan_run(const Graph& graph, std::span<const Output> fetches, std::span<Node* const> targets,
              const std::unordered_set<Output>& fed) {
  Planner planner(fed);
  for (const Output& fetch : fetches) {
    if (!fetch.valid()) throw invalid_argument("run: fetch, got none, expected a tensor");
    if (&fetch.graph() != &graph) {
      throw invalid_argument(
          "run: fetch, got '{}' of another graph, expected a tensor of this graph", fetch.name());
    }
    if (fetch.dtype() == DType::resource) {
      throw invalid_argument("run: fetch, got '{}', a handle, expected a tensor with a value",
                             fetch.name());
    }
    planner.add_root(fetch);
  }
  for (Node* target : targets) {
    if (target == nullptr) throw invalid_argument("run: target, got none, expected an operation");
    if (&target->graph() != &graph) {
      throw invalid_argument("run: target, got '{}' of another graph, expected one of this graph",
                             target->name());
    }
    planner.add_root(target);
  }
  return planner.finish();
}

std::unordered_set<const Node*> ancestors(std::vector<const Node*> roots) {
  std::unordered_set<const Node*> seen;
  while (!roots.empty()) {
    const Node* node = roots.back();
    roots.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Output& input : node->inputs()) roots.push_back(input.node());
    for (const Node* control : node->control_inputs()) roots.push_back(control);
  }
  return seen;
}

Plan plan_function(const Graph& function) {
  const std::unordered_set<Output> none;
  Planner planner(none);
  for (const Output& result : function.results()) planner.add_root(result);
  for (const auto& node : function.nodes()) {
    if (has_effect(*node)) planner.add_root(node.get());
  }
  return planner.finish();
}

}  // namespace systole
