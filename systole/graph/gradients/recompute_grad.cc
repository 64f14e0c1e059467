#include "systole/graph/gradients/recompute_grad.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/gradient_override.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/gradients/gradients.h"

namespace systole {
namespace {

// The IdentityN after the function has its results as inputs, and after them the values that a
// second run starts from: the sources.
constexpr std::string_view kGradient = "RecomputeGrad";
constexpr std::string_view kNumResults = "_recompute_results";

// True for nodes of the function, those from `first` on, that a second run computes again; others
// are its sources.
bool runs_again(const Node& node, int64_t first) {
  const OpTraits& traits = node.op().traits;
  const bool holds_function = std::ranges::any_of(node.attrs(), [](const auto& attr) {
    return std::holds_alternative<FunctionRef>(attr.second);
  });
  return node.id() >= first && node.op_name() != "_Arg" && !traits.stateful &&
         !traits.draws_random && !holds_function;
}

// The nodes between `sources` and `results`, in the order in which they were made.
std::vector<Node*> nodes_between(const std::vector<Output>& results,
                                 const std::function<bool(const Output&)>& is_source) {
  std::vector<Node*> nodes;
  std::unordered_set<Node*> seen;
  std::vector<Output> pending = results;
  while (!pending.empty()) {
    const Output value = pending.back();
    pending.pop_back();
    if (is_source(value) || !seen.insert(value.node()).second) continue;
    nodes.push_back(value.node());
    for (const Output& input : value.node()->inputs()) pending.push_back(input);
  }
  std::ranges::sort(nodes, {}, &Node::id);
  return nodes;
}

// The results of a second run. `values` has the copies of the sources, and gets those of all nodes.
std::vector<Output> run_again(const std::vector<Output>& results,
                              std::unordered_map<Output, Output>& values) {
  const std::unordered_map<Output, Output> sources = values;
  for (Node* node :
       nodes_between(results, [&](const Output& value) { return sources.contains(value); })) {
    const WhereScope where(node->where(), /*overrides=*/true);
    std::vector<Output> inputs;
    for (const Output& input : node->inputs()) inputs.push_back(values.at(input));
    Node* copy = Graph::current().add_node(node->op_name(), std::move(inputs), node->attrs(), {},
                                           node->name());
    for (int i = 0; i < node->num_outputs(); ++i) values[node->output(i)] = copy->output(i);
  }
  std::vector<Output> again;
  for (const Output& result : results) again.push_back(values.at(result));
  return again;
}

std::vector<Output> recomputed_gradients(Node& node, const std::vector<Output>& grads) {
  const auto num_results = static_cast<size_t>(node.attr<int64_t>(kNumResults));
  const std::vector<Output> inputs(node.inputs().begin(), node.inputs().end());
  const std::vector<Output> results(inputs.begin(),
                                    inputs.begin() + static_cast<std::ptrdiff_t>(num_results));
  std::unordered_map<Output, Output> values;
  // What has a gradient waits for the gradients of the results, so that the second run is not
  // earlier. Others are sizes and indices, which must stay constants.
  std::vector<size_t> differentiable;
  std::vector<Output> waiting;
  for (size_t i = num_results; i < inputs.size(); ++i) {
    values[inputs[i]] = inputs[i];
    if (!is_floating(inputs[i].dtype()) && !is_complex(inputs[i].dtype())) continue;
    differentiable.push_back(i);
    waiting.push_back(inputs[i]);
  }
  std::vector<size_t> of_grads;
  for (size_t i = 0; i < num_results; ++i) {
    if (!grads[i].valid()) continue;
    of_grads.push_back(i);
    waiting.push_back(grads[i]);
  }
  Node* barrier = Graph::current().add_node("XlaOptimizationBarrier", waiting);
  const auto held = [&](size_t i) { return barrier->output(static_cast<int>(i)); };
  std::vector<Output> sources;
  for (size_t i = 0; i < differentiable.size(); ++i) {
    sources.push_back(held(i));
    values[inputs[differentiable[i]]] = held(i);
  }
  const std::vector<Output> again = run_again(results, values);
  std::vector<Output> ys;
  GradientsOptions options;
  for (size_t i = 0; i < of_grads.size(); ++i) {
    ys.push_back(again[of_grads[i]]);
    options.grad_ys.push_back(held(sources.size() + i));
  }
  std::vector<Output> result(inputs.size());
  const std::vector<Output> found = gradients(ys, sources, options);
  for (size_t i = 0; i < found.size(); ++i) result[differentiable[i]] = found[i];
  return result;
}

std::vector<Output> apply_recomputed(
    const std::function<std::vector<Output>(const std::vector<Output>&)>& f,
    const std::vector<Output>& given, SourceLocation where) {
  [[maybe_unused]] static const bool registered = [] {
    register_gradient(kGradient, recomputed_gradients);
    return true;
  }();
  Graph& graph = Graph::current();
  std::vector<Output> xs;
  for (const Output& x : given) xs.push_back(identity(x));
  const int64_t first = graph.nodes().empty() ? 0 : graph.nodes().back()->id() + 1;
  const std::vector<Output> results = f(xs);
  for (const Output& result : results) {
    if (result.valid()) continue;
    throw at_line(invalid_argument("recompute_grad: result of the function, got none, expected a "
                                   "tensor"),
                  where);
  }
  std::vector<Output> inputs = results;
  std::unordered_set<Output> sources;
  nodes_between(results, [&](const Output& value) {
    if (runs_again(*value.node(), first)) return false;
    if (sources.insert(value).second) inputs.push_back(value);
    return true;
  });
  const GradientOverrideMap with_recomputation({{"IdentityN", kGradient}});
  Node* node = graph.add_node("IdentityN", std::move(inputs),
                              {{std::string(kNumResults), std::ssize(results)}}, where);
  std::vector<Output> outputs;
  for (int i = 0; i < static_cast<int>(results.size()); ++i) outputs.push_back(node->output(i));
  return outputs;
}

}  // namespace

std::function<Output(const Input& x)> recompute_grad(std::function<Output(const Output& x)> f) {
  const auto of_list = [f = std::move(f)](const std::vector<Output>& xs) {
    return std::vector{f(xs[0])};
  };
  return [of_list](const Input& x) {
    return apply_recomputed(of_list, {resolve("recompute_grad", x)}, x.where())[0];
  };
}

std::function<std::vector<Output>(const InputList& xs)> recompute_grad(
    std::function<std::vector<Output>(const std::vector<Output>& xs)> f) {
  return [f = std::move(f)](const InputList& xs) {
    std::vector<Output> given;
    for (const Input& x : xs.inputs()) given.push_back(resolve("recompute_grad", x));
    return apply_recomputed(f, given,
                            xs.inputs().empty() ? SourceLocation() : xs.inputs()[0].where());
  };
}

}  // namespace systole
