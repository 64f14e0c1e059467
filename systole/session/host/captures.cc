#include "systole/session/host/captures.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/plan.h"
#include "systole/graph/lowering/random_state.h"
#include "systole/session/host/host_function.h"

namespace systole {
namespace {

// Whether equal inputs give equal results in every run.
bool is_fixed(const Node& node) {
  if (node.op().traits.stateful || is_random(node)) return false;
  return std::ranges::all_of(node.attrs(), [](const auto& attr) {
    const auto* function = std::get_if<FunctionRef>(&attr.second);
    return function == nullptr ||
           std::ranges::all_of((*function)->nodes(), [](const auto& n) { return is_fixed(*n); });
  });
}

bool is_given(const Node& node) {
  const std::string_view op = node.op_name();
  return op == "Placeholder" || op == "PlaceholderWithDefault" || op == "_Arg";
}

// Returns the node that makes `output` differ between runs: a variable if there is one, else the
// earliest node. Null if there is none.
const Node* changing(const Output& output) {
  const auto rank = [](const Node& node) {
    return std::pair(node.op_name() != "VarHandleOp", node.id());
  };
  const Node* found = nullptr;
  for (const Node* node : ancestors({output.node()})) {
    const bool changes = is_given(*node) || !is_fixed(*node);
    if (changes && (found == nullptr || rank(*node) < rank(*found))) found = node;
  }
  return found;
}

std::string_view advice(const Node& node) {
  if (node.op_name() == "VarHandleOp") return "variables can be used on what get_next() gives";
  if (is_random(node)) return "random numbers can be drawn in the function";
  return "what is fed can be used on what get_next() gives";
}

Tensor computed(const Output& output) {
  Graph& graph = output.graph();
  std::shared_ptr<Graph> owner = graph.weak_from_this().lock();
  if (owner == nullptr) owner = std::shared_ptr<Graph>(std::shared_ptr<void>(), &graph);
  return HostFunction(std::move(owner), {}, {output}).run({}, {}).front();
}

}  // namespace

std::optional<Tensor> constant_result(Output output) {
  output = resolve_capture(output);
  if (auto known = constant_value(output)) return known;
  if (changing(output) != nullptr) return std::nullopt;
  return computed(output);
}

bool Captures::is_around(const Graph& graph) const {
  const Graph* at = &around_;
  while (at != nullptr && at != &graph) at = at->outer();
  return at != nullptr;
}

Output Captures::capture(const Output& value) {
  if (!is_around(value.graph())) {
    throw invalid_argument(
        "tensor, got '{}' of another graph ({}), expected one of the function or of the graph "
        "around it",
        value.name(), value.node()->describe());
  }
  if (const auto it = captured_.find(value); it != captured_.end()) return it->second;
  return captured_[value] = add(value);
}

Output Captures::add(const Output& value) {
  const auto constant_of = constant_result(value);
  const Node* const node = constant_of ? nullptr : changing(resolve_capture(value));
  if (node != nullptr && (!takes_values_ || node->op_name() == "VarHandleOp")) {
    throw invalid_argument(
        "tensor '{}' of the graph around the function, got one that follows from {} ({}), expected "
        "one of constants; {}",
        value.name(), node->describe(), node->op_name(), advice(*node));
  }
  // At the top of the function, also if a branch or a loop uses it first.
  const GraphScope scope(function_);
  const ControlDependencies none(nullptr);
  const NameScope top("/");
  if (constant_of) return constant(*constant_of, {.name = "capture"});
  values_.push_back(value);
  arguments_.push_back(placeholder(value.dtype(), value.shape(), "capture"));
  return arguments_.back();
}

}  // namespace systole
