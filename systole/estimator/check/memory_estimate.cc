#include "systole/estimator/check/memory_estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "systole/graph/core/op_def.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::estimator {
namespace {

constexpr size_t kShown = 10;

// Returns whether the node's result shares the buffer of its input or of the variable that it
// reads, and so needs no memory of its own.
bool is_alias(const Node& node) { return node.op().traits.passes_on != PassesOn::nothing; }

TensorMemory memory_of(std::string what, const TensorType& type) {
  return {.what = std::move(what),
          .type = type,
          .bytes = type.shape.num_elements() * dtype_info(type.dtype).size,
          .padded_bytes = runtime::padded_bytes(type)};
}

// Tracks live intermediate results through a step.
class Liveness {
 public:
  Liveness(std::span<const Node* const> nodes, MemoryReport& report);
  void run();

 private:
  // Returns the node that owns the memory of an output.
  static const Node* owner(const Output& output);
  bool is_fused(const Node& node) const;

  std::span<const Node* const> nodes_;
  MemoryReport& report_;
  std::map<const Node*, std::set<const Node*>> users_;
  std::map<const Node*, const Node*> last_user_;  // by the node that has the memory
};

const Node* Liveness::owner(const Output& output) {
  const Node* node = output.node();
  while (is_alias(*node) && node->num_inputs() > 0) node = node->inputs()[0].node();
  return node;
}

Liveness::Liveness(std::span<const Node* const> nodes, MemoryReport& report)
    : nodes_(nodes), report_(report) {
  for (const Node* node : nodes) {
    if (is_alias(*node)) continue;
    for (const Output& input : node->inputs()) users_[owner(input)].insert(node);
  }
  // A fused operation reads its inputs where its user runs.
  for (const Node* node : nodes) last_user_[node] = node;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node* const node = *it;
    if (is_alias(*node)) continue;
    const Node* when = is_fused(*node) ? last_user_[node] : node;
    for (const Output& input : node->inputs()) {
      const Node*& last = last_user_[owner(input)];
      if (last == nullptr || last->id() < when->id()) last = when;
    }
  }
}

// Returns whether the operation is elementwise, with inputs of its shape or broadcast to it, and
// has one user.
bool Liveness::is_fused(const Node& node) const {
  if (node.num_outputs() != 1 || node.op().traits.stateful || node.num_inputs() == 0) return false;
  const auto users = users_.find(&node);
  if (users == users_.end() || users->second.size() != 1) return false;
  const Shape& shape = node.output_types()[0].shape;
  bool one_is_whole = false;
  for (const Output& input : node.inputs()) {
    const Shape& from = input.shape();
    if (from.rank() > shape.rank()) return false;
    one_is_whole = one_is_whole || from == shape;
    for (int axis = 1; axis <= from.rank(); ++axis) {
      const int64_t size = from[from.rank() - axis];
      if (size != 1 && size != shape[shape.rank() - axis]) return false;
    }
  }
  return one_is_whole;
}

void Liveness::run() {
  std::multimap<int, int64_t> ends;  // the last user's id -> bytes
  int64_t alive = 0;
  for (const Node* node : nodes_) {
    while (!ends.empty() && ends.begin()->first < node->id()) {
      alive -= ends.begin()->second;
      ends.erase(ends.begin());
    }
    if (is_alias(*node) || node->op().traits.costs_no_memory || is_fused(*node)) continue;
    for (const TensorType& type : node->output_types()) {
      if (type.dtype == DType::resource || type.dtype == DType::string) continue;
      if (!type.is_static()) {
        report_.complete = false;
        continue;
      }
      report_.largest.push_back(memory_of(node->describe(), type));
      alive += report_.largest.back().padded_bytes;
      ends.emplace(last_user_[node]->id(), report_.largest.back().padded_bytes);
    }
    report_.step = std::max(report_.step, alive);
  }
}

}  // namespace

MemoryReport estimate_memory(const Model& model, std::span<const Node* const> nodes,
                             int64_t limit) {
  MemoryReport report{.limit = limit};
  const auto add = [&](const std::string& what, const TensorType& type, int64_t& sum) {
    if (!type.is_static()) {
      report.complete = false;
      return;
    }
    report.largest.push_back(memory_of(what, type));
    sum += report.largest.back().padded_bytes;
  };
  for (const auto key : {graph_keys::global_variables, graph_keys::local_variables}) {
    for (const Variable& variable : model.variables(key)) {
      add(fmt::format("variable '{}'", variable.name()), variable.value().type(), report.variables);
    }
  }
  for (const Output& input : model.inputs) {
    add(fmt::format("input '{}'", input.node()->name()), input.type(), report.inputs);
  }
  Liveness(nodes, report).run();
  std::ranges::stable_sort(report.largest, std::greater(), &TensorMemory::padded_bytes);
  if (report.largest.size() > kShown) report.largest.resize(kShown);
  return report;
}

}  // namespace systole::estimator
