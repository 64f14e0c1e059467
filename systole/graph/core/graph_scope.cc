// The scopes that op functions build in: graph, name, control dependencies, source line. Each is
// per thread or per graph, and ends with its object.
#include <atomic>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/graph/core/capture_scope.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/where_scope.h"

namespace systole {
namespace {

std::vector<Graph*>& scopes_of_thread() {
  thread_local std::vector<Graph*> scopes;
  return scopes;
}

SourceLocation& where_of_thread() {
  thread_local SourceLocation where;
  return where;
}

const CaptureScope*& innermost_capture() {
  thread_local const CaptureScope* scope = nullptr;
  return scope;
}

// Never destroyed: sessions, and static objects of a program, may hold Outputs of earlier ones.
Graph& new_default_graph() {
  static auto* mutex = new Mutex();
  static auto* graphs = new std::vector<std::shared_ptr<Graph>>();
  const MutexLock lock(*mutex);
  return *graphs->emplace_back(std::make_shared<Graph>());
}

std::atomic<Graph*>& default_graph() {
  static auto* graph = new std::atomic<Graph*>(&new_default_graph());
  return *graph;
}

}  // namespace

Graph& Graph::current() {
  if (!scopes_of_thread().empty()) return *scopes_of_thread().back();
  return *default_graph().load();
}

void reset_default_graph() {
  if (!scopes_of_thread().empty()) {
    throw failed_precondition(
        "reset_default_graph: got a GraphScope around it, expected none on this thread");
  }
  default_graph().store(&new_default_graph());
}

GraphScope::GraphScope(Graph& graph) { scopes_of_thread().push_back(&graph); }
GraphScope::~GraphScope() { scopes_of_thread().pop_back(); }

CaptureScope::CaptureScope(const Graph& function, Capture capture)
    : function_(function),
      capture_(std::move(capture)),
      previous_(std::exchange(innermost_capture(), this)) {}
CaptureScope::~CaptureScope() { innermost_capture() = previous_; }

const CaptureScope::Capture* CaptureScope::of(const Graph& function) {
  const CaptureScope* scope = innermost_capture();
  while (scope != nullptr && &scope->function_ != &function) scope = scope->previous_;
  return scope == nullptr ? nullptr : &scope->capture_;
}

NameScope::NameScope(std::string_view name) : NameScope(Graph::current(), name) {}

NameScope::NameScope(Graph& graph, std::string_view name) : graph_(graph) {
  std::string entered;
  if (name.ends_with('/')) {
    entered = name.substr(0, name.size() - 1);
  } else if (!name.empty()) {
    entered = graph_.unique_name(name);
  }
  name_ = entered.empty() ? "" : entered + "/";
  previous_ = std::exchange(graph_.name_scope_, std::move(entered));
}

NameScope::~NameScope() { graph_.name_scope_ = std::move(previous_); }

ControlDependencies::ControlDependencies(const std::vector<Operation>& operations)
    : graph_(Graph::current()) {
  std::vector<Node*> nodes;
  for (const Operation& operation : operations) {
    if (!operation.valid()) {
      throw invalid_argument("control_dependencies: operation, got none, expected a node");
    }
    const Graph* owner = &operation.node()->graph();
    if (owner == &graph_) {
      nodes.push_back(operation.node());
      continue;
    }
    // A function's node runs after what its caller runs after, so an operation around it is waited
    // for already.
    const Graph* outer = graph_.outer();
    while (outer != nullptr && outer != owner) outer = outer->outer();
    if (outer == nullptr) {
      throw invalid_argument(
          "control_dependencies: operation, got '{}' of another graph, expected one of this graph",
          operation.name());
    }
  }
  previous_ = graph_.control_scopes_;
  graph_.control_scopes_.push_back(std::move(nodes));
}

ControlDependencies::ControlDependencies(std::nullptr_t) : graph_(Graph::current()) {
  previous_ = std::exchange(graph_.control_scopes_, {});
}

ControlDependencies::~ControlDependencies() { graph_.control_scopes_ = std::move(previous_); }

WhereScope::WhereScope(SourceLocation where, bool overrides) : previous_(where_of_thread()) {
  if (overrides || !previous_.known()) where_of_thread() = where;
}
WhereScope::~WhereScope() { where_of_thread() = previous_; }
SourceLocation WhereScope::current() { return where_of_thread(); }

}  // namespace systole
