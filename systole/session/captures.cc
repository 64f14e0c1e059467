#include "systole/session/captures.h"

#include <algorithm>

#include "systole/graph/array_ops.h"
#include "systole/graph/constant_value.h"
#include "systole/graph/op_def.h"
#include "systole/graph/plan.h"
#include "systole/graph/random_state.h"
#include "systole/session/host_function.h"

namespace systole {
namespace {

// Gives the same in every run, if its inputs do.
bool is_fixed(const Node& node) {
  if (node.op().stateful || is_random(node)) return false;
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

// What makes `output` differ between runs; null where nothing does. The earliest of several.
const Node* changing(const Output& output) {
  const Node* found = nullptr;
  for (const Node* node : ancestors({output.node()})) {
    const bool changes = is_given(*node) || !is_fixed(*node);
    if (changes && (found == nullptr || node->id() < found->id())) found = node;
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
  const auto constant_of = constant_result(value);
  if (!constant_of) {
    const Node& node = *changing(resolve_capture(value));
    throw invalid_argument(
        "tensor '{}' of the graph around the function, got one that follows from {} ({}), expected "
        "one of constants; {}",
        value.name(), node.describe(), node.op_name(), advice(node));
  }
  // The same for all elements, wherever in the function it is first used.
  const GraphScope scope(function_);
  const ControlDependencies none(nullptr);
  const NameScope top("/");
  return captured_[value] = constant(*constant_of, {.name = "capture"});
}

}  // namespace systole
