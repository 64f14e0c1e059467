// Graphs that are functions: their arguments, declared and captured, and their results.
#include <algorithm>
#include <utility>

#include "systole/graph/core/capture_scope.h"
#include "systole/graph/core/graph.h"

namespace systole {

std::shared_ptr<Graph> Graph::make_function(Graph& outer) {
  auto function = std::make_shared<Graph>();
  function->outer_ = &outer;
  function->seed_ = outer.seed_;
  return function;
}

Output Graph::add_argument(TensorType type, std::string_view name, SourceLocation where) {
  if (!captures_.empty()) {
    throw internal_error("add_argument: '{}', got {} captures before it, expected none", name,
                         captures_.size());
  }
  Node* node = add_node("_Arg", {}, {{"T", type.dtype}, {"shape", type.shape}}, where, name);
  arguments_.push_back(node->output());
  return arguments_.back();
}

Output Graph::capture(Output value) {
  if (&value.graph() == this) return value;
  if (outer_ == nullptr) {
    if (const auto* capture = CaptureScope::of(*this)) return (*capture)(value);
    throw invalid_argument("input, got '{}' of another graph, expected a tensor of this graph",
                           value.name());
  }
  const Output outside = outer_->capture(value);
  const size_t declared = arguments_.size() - captures_.size();
  if (const auto it = std::ranges::find(captures_, outside); it != captures_.end()) {
    return arguments_[declared + static_cast<size_t>(it - captures_.begin())];
  }
  std::vector<Output> captures = std::exchange(captures_, {});
  const NameScope top(*this, "/");
  const Output argument = add_argument(outside.type(), "capture", outside.node()->where());
  captures_ = std::move(captures);
  captures_.push_back(outside);
  return argument;
}

void Graph::keep_captures(const std::unordered_set<Output>& needed) {
  const size_t declared = arguments_.size() - captures_.size();
  std::vector<Output> arguments(arguments_.begin(),
                                arguments_.begin() + static_cast<int64_t>(declared));
  std::vector<Output> captures;
  for (size_t i = 0; i < captures_.size(); ++i) {
    if (!needed.contains(arguments_[declared + i])) continue;
    arguments.push_back(arguments_[declared + i]);
    captures.push_back(captures_[i]);
  }
  arguments_ = std::move(arguments);
  captures_ = std::move(captures);
}

void Graph::share_captures(Graph& a, Graph& b) {
  for (const Output& captured : std::vector<Output>(b.captures_)) a.capture(captured);
  const size_t declared = b.arguments_.size() - b.captures_.size();
  std::vector<Output> arguments;
  for (const Output& captured : a.captures_) arguments.push_back(b.capture(captured));
  b.arguments_.resize(declared);
  b.arguments_.insert(b.arguments_.end(), arguments.begin(), arguments.end());
  b.captures_ = a.captures_;
}

void Graph::set_results(std::vector<Output> results) {
  for (Output& result : results) result = capture(result);
  results_ = std::move(results);
}

}  // namespace systole
