#include "systole/graph/api/graph.h"

#include <algorithm>
#include <cctype>
#include <ostream>

#include "systole/base/suggest.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/api/variable.h"
#include "systole/graph/api/where_scope.h"
#include "systole/graph/gradients/custom_gradient.h"
#include "systole/graph/lowering/capture_scope.h"
#include "systole/graph/op_def.h"
#include "systole/graph/op_signature.h"

namespace systole {
namespace {

// TensorFlow's rule for the names of nodes and scopes.
void check_name(std::string_view name) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '/';
  };
  const bool starts_well = !name.empty() && name[0] != '-' && name[0] != '/';
  if (starts_well && std::ranges::all_of(name, allowed)) return;
  throw invalid_argument("name, got '{}', expected letters, digits and any of '_.-/'", name);
}

// Rules of the op's registration, so that inference and lowering may rely on them: the number of
// inputs, and no handle where a value belongs. A node that is written in another form has other
// inputs than the registration.
void check_inputs(const OpDef& op, std::span<const Output> inputs) {
  if (op.export_node != nullptr) return;
  const OpSignature& signature = signature_of(op);
  const auto least = static_cast<size_t>(signature.min_inputs());
  const size_t got = inputs.size();
  if (got < least || (got > least && !signature.takes_more())) {
    throw invalid_argument("inputs, got {}, expected {}{}", got, least,
                           signature.takes_more() ? " or more" : "");
  }
  if (signature.takes_more() || op.passes_on == PassesOn::value) return;
  for (size_t i = 0; i < got; ++i) {
    const SignatureArg& arg = signature.inputs[i];
    if (inputs[i].dtype() != DType::resource || arg.type_attr.empty()) continue;
    throw invalid_argument("{}, got the handle '{}', expected a value: read the variable", arg.name,
                           inputs[i].name());
  }
}

std::string lower_graph(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

// -- Handles

Graph& Output::graph() const { return node_->graph(); }

const TensorType& Output::type() const {
  return node_->output_types()[static_cast<size_t>(index_)];
}

std::string Output::name() const { return fmt::format("{}:{}", node_->name(), index_); }

std::ostream& operator<<(std::ostream& out, const Output& output) {
  if (!output.valid()) return out << "Tensor()";
  return out << fmt::format("Tensor(\"{}\", {})", output.name(), output.type());
}

const std::string& Operation::name() const { return node_->name(); }

std::string_view Node::op_name() const { return op_->name; }

std::vector<Output> Node::outputs() {
  std::vector<Output> outputs;
  outputs.reserve(output_types_.size());
  for (int i = 0; i < num_outputs(); ++i) outputs.push_back(output(i));
  return outputs;
}

std::string Node::describe() const {
  std::string result = fmt::format("node '{}'", name_);
  if (where_.known()) result += fmt::format(" at {}", where_.to_string());
  return result;
}

// -- Graph

struct Graph::Collections {
  std::map<std::string, std::vector<Item>, std::less<>> lists;
};

Graph::Graph() : collections_(std::make_unique<Collections>()) {}
Graph::~Graph() = default;

Node* Graph::add_node(std::string_view op_name, std::vector<Output> inputs, AttrMap attrs,
                      SourceLocation where, std::string_view name) {
  const OpDef& op = find_op_def(op_name);
  if (const SourceLocation outermost = WhereScope::current(); outermost.known()) where = outermost;
  auto node = std::make_unique<Node>();
  node->op_ = &op;
  node->graph_ = this;
  node->where_ = where;
  node->attrs_ = std::move(attrs);
  if (const std::string* gradient = GradientOverrideMap::find(op_name)) {
    node->attrs_.insert_or_assign(std::string(kGradientOpType), *gradient);
  }
  node->name_ = node_name(name.empty() ? op_name : name);
  try {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].valid()) throw invalid_argument("input {}, got none, expected a tensor", i);
      inputs[i] = capture(inputs[i]);
    }
    check_inputs(op, inputs);
    node->inputs_ = std::move(inputs);
    if (op.infer != nullptr) node->output_types_ = op.infer({op_name, node->inputs_, node->attrs_});
  } catch (const Error& error) {
    throw at_node(error, *node);
  }
  node->id_ = static_cast<int>(nodes_.size());  // captures may have added nodes
  for (const auto& scope : control_scopes_) {
    for (Node* control : scope) {
      if (std::ranges::find(node->control_inputs_, control) == node->control_inputs_.end()) {
        node->control_inputs_.push_back(control);
      }
    }
  }
  ++root().nodes_made_;
  by_name_[node->name_] = node.get();
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

std::string Graph::node_name(std::string_view name) {
  if (!name.ends_with('/')) return unique_name(name);
  name.remove_suffix(1);  // the name of a scope, which is registered already
  if (find_node(name) == nullptr) return std::string(name);
  const NameScope top(*this, "/");
  return unique_name(name);
}

int64_t& Graph::counter(const std::string& name) { return counters_[name]; }

Node* Graph::find_node(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

Output Graph::tensor(std::string_view name) const {
  const size_t colon = name.rfind(':');
  const std::string_view node_part = name.substr(0, colon);
  Node* node = find_node(node_part);
  if (node == nullptr) {
    std::vector<std::string> names;
    for (const auto& n : nodes_) names.push_back(n->name());
    throw not_found("graph: tensor, got '{}', expected the name of a node{}", name,
                    did_you_mean(node_part, names));
  }
  int index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const bool number = !digits.empty() && digits.size() < 9 &&
                        std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    index = number ? std::stoi(std::string(digits)) : -1;
  }
  if (index < 0 || index >= node->num_outputs()) {
    throw not_found("graph: tensor, got '{}', expected one of the {} outputs of '{}' ({})", name,
                    node->num_outputs(), node_part, node->op_name());
  }
  return node->output(index);
}

std::string Graph::unique_name(std::string_view base) {
  check_name(base);
  std::string name =
      name_scope_.empty() ? std::string(base) : fmt::format("{}/{}", name_scope_, base);
  // Names that differ in case alone would collide in TensorBoard and on some file systems.
  const std::string key = lower_graph(name);
  int& count = name_counts_[key];
  if (count++ == 0) return name;
  int suffix = count - 1;
  while (name_counts_.contains(fmt::format("{}_{}", key, suffix))) ++suffix;
  count = suffix + 1;
  name_counts_[fmt::format("{}_{}", key, suffix)] = 1;
  return fmt::format("{}_{}", name, suffix);
}

Graph& Graph::root() {
  Graph* graph = this;
  while (graph->outer_ != nullptr) graph = graph->outer_;
  return *graph;
}

// -- Collections

void Graph::add_to_collection(std::string_view key, Item item) {
  collections_->lists[std::string(key)].push_back(std::move(item));
}

namespace {

template <class T>
std::string name_of_item(const T& item) {
  if constexpr (std::is_same_v<T, Saveable>) {
    return item.name;
  } else {
    return item.name();
  }
}

}  // namespace

template <class T>
std::vector<T> Graph::collection(std::string_view key, std::string_view scope) const {
  std::vector<T> result;
  const auto it = collections_->lists.find(key);
  if (it == collections_->lists.end()) return result;
  for (const Item& item : it->second) {
    const T* wanted = std::get_if<T>(&item);
    if (wanted != nullptr && name_of_item(*wanted).starts_with(scope)) {
      result.push_back(*wanted);
    }
  }
  return result;
}

template std::vector<Output> Graph::collection(std::string_view, std::string_view) const;
template std::vector<Operation> Graph::collection(std::string_view, std::string_view) const;
template std::vector<Variable> Graph::collection(std::string_view, std::string_view) const;
template std::vector<Saveable> Graph::collection(std::string_view, std::string_view) const;

// -- Functions

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

// -- Seeds

void set_random_seed(int64_t seed) { Graph::current().set_seed(seed); }

std::optional<std::pair<int64_t, int64_t>> get_seed(std::optional<int64_t> op_seed) {
  constexpr int64_t kDefaultGraphSeed = 87654321;
  constexpr int64_t kInt32Max = 0x7fffffff;
  Graph& graph = Graph::current();
  std::pair<int64_t, int64_t> seeds;
  if (graph.seed()) {
    seeds = {*graph.seed(), op_seed ? *op_seed : graph.nodes_made()};
  } else if (op_seed) {
    seeds = {kDefaultGraphSeed, *op_seed};
  } else {
    return std::nullopt;
  }
  // (0, 0) stands for "no seed" on the node, as in TensorFlow.
  if (seeds == std::pair<int64_t, int64_t>{0, 0}) return {{0, kInt32Max}};
  return seeds;
}

}  // namespace systole
