#include "systole/graph/core/graph.h"

#include <algorithm>
#include <cctype>
#include <ostream>

#include "systole/base/suggest.h"

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

std::string lower_graph(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

// -- Handles

Graph& Output::graph() const { return node_->graph(); }

const TensorType& Output::type() const { return node_->output_types()[index_]; }

std::string Output::name() const { return fmt::format("{}:{}", node_->name(), index_); }

std::ostream& operator<<(std::ostream& out, const Output& output) {
  if (!output.valid()) return out << "Tensor()";
  return out << fmt::format("Tensor(\"{}\", {})", output.name(), output.type());
}

const std::string& Operation::name() const { return node_->name(); }

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
