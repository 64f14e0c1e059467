#include "systole/session/replica_reductions.h"

#include <unordered_set>

#include "systole/graph/core/variable.h"
#include "systole/graph/functions/tpu_replicate.h"
#include "systole/graph/lowering/plan.h"
#include "systole/hlo/passes/replica_streams.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"

namespace systole {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

hlo::CollectiveAttrs all_replicas() {
  hlo::CollectiveAttrs attrs;
  attrs.replica_groups = Tensor(DType::s64, {0, 0});
  return attrs;
}

Value of_first_replica(Builder& b, Value x, int num_replicas) {
  Tensor row(DType::s64, {1, num_replicas});
  for (int64_t i = 0; i < num_replicas; ++i) row.data<int64_t>()[i] = i;
  hlo::RootedCollectiveAttrs attrs;
  attrs.groups = all_replicas();
  attrs.groups.replica_groups = row;
  return b.op(Opcode::collective_broadcast, {x}, attrs)->result();
}

// The name of the top-level node: "while" for the node "while/add" in its body.
bool is_inside(const std::string& name, const std::unordered_set<std::string>& nodes) {
  for (size_t end = name.size(); end != std::string::npos && end != 0;
       end = name.rfind('/', end - 1)) {
    if (nodes.contains(name.substr(0, end))) return true;
  }
  return false;
}

// Initial values of variables are the same on all replicas, wherever the variable is created.
std::unordered_set<const Node*> initial_values(const Graph& graph) {
  std::vector<const Node*> open;
  for (const auto key : {graph_keys::global_variables, graph_keys::local_variables}) {
    for (const Variable& variable : graph.collection<Variable>(key)) {
      if (variable.initial_value().valid()) open.push_back(variable.initial_value().node());
    }
  }
  std::unordered_set<const Node*> found;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!found.insert(node).second) continue;
    for (const Output& input : node->inputs()) open.push_back(input.node());
  }
  return found;
}

// Random ops outside of the computation draw once for all replicas.
void draw_by_replica(hlo::Module& module, const Graph& graph) {
  const std::unordered_set<const Node*> initial = initial_values(graph);
  std::unordered_set<std::string> inside;
  for (const auto& node : graph.nodes()) {
    if (tpu::is_replicated(*node) && !initial.contains(node.get())) inside.insert(node->name());
  }
  hlo::ReplicaStreams([&](const hlo::Instruction& draw) {
    return is_inside(draw.metadata().name, inside);
  }).run(module);
}

}  // namespace

Value all_reduce(Builder& b, Value x, Opcode reducer) {
  return b
      .op_with_regions(
          Opcode::all_reduce, {x}, all_replicas(),
          [&](hlo::Instruction& op) { hlo::fill_reducer(op.add_region(), reducer, x.dtype()); })
      ->result();
}

Value mean_or_first(Builder& b, Value x, int num_replicas) {
  if (!is_floating(x.dtype())) return of_first_replica(b, x, num_replicas);
  const Value sum = all_reduce(b, x, Opcode::add);
  return b.divide(sum, b.splat_like(sum, num_replicas));
}

int num_replicas_of(const Graph& graph, std::span<const Output> fetches,
                    std::span<Node* const> targets, std::span<const Feed> feeds) {
  std::unordered_set<Output> fed;
  for (const Feed& feed : feeds) fed.insert(feed.output);
  const Node* first = nullptr;
  int64_t count = 1;
  for (const Node* node : plan_run(graph, fetches, targets, fed).order) {
    if (node->op_name() != "TPUReplicateMetadata") continue;
    const int64_t own = node->attr<int64_t>("num_replicas");
    if (first != nullptr && own != count) {
      throw invalid_argument(
          "run: replicas of {}, got {}, expected {} as of {}: a run has one number of them",
          node->describe(), own, count, first->describe());
    }
    first = node;
    count = own;
  }
  return static_cast<int>(count);
}

void reduce_varying_results(SpecializedProgram& program, const Graph& graph,
                            std::span<const Output> fetches, int num_replicas) {
  draw_by_replica(*program.module, graph);
  hlo::Computation& main = program.module->entry();
  const std::vector<bool> same(static_cast<size_t>(main.num_parameters()), true);
  const std::vector<bool> varying = hlo::varying_results(
      *program.module, {.num_replicas = num_replicas, .replicated_parameters = same});
  std::vector<Value> results(main.results().begin(), main.results().end());
  Builder b(main, main.terminator());
  for (size_t k = 0; k < results.size(); ++k) {
    if (!varying[k]) continue;
    if (k < fetches.size()) {
      throw invalid_argument(
          "run: fetch '{}', got a tensor inside of a TPU computation, which has been marked as not "
          "fetchable, expected one that the computation returns",
          fetches[k].name());
    }
    const bool is_update = k < fetches.size() + program.updated.size();
    results[k] = is_update ? mean_or_first(b, results[k], num_replicas)
                           : all_reduce(b, results[k], Opcode::or_);
  }
  main.set_results(results);
}

}  // namespace systole
