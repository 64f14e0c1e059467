#include "systole/graph/gradients/gradients.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "systole/base/counted.h"
#include "systole/graph/core/gradient_override.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/gradients/blocks_gradient.h"
#include "systole/graph/gradients/indexed_slices.h"

namespace systole {
namespace {

// Gradients flow along real and complex values, and along variable handles to the sum over all
// reads of a variable.
bool carries_gradient(const Output& output) {
  const DType dtype = output.dtype();
  return is_floating(dtype) || is_complex(dtype) || dtype == DType::resource;
}

// Where a node's gradient comes from: a function of the user's, or an op, its own as a rule.
struct OverriddenGradient {
  const OpDef* op = nullptr;
  const RegisteredGradient* registered = nullptr;
};

OverriddenGradient overridden_gradient(const Node& node) {
  const auto it = node.attrs().find(kGradientOpType);
  if (it == node.attrs().end()) return {.op = &node.op()};
  const auto& name = std::get<std::string>(it->second);
  if (const RegisteredGradient* found = find_registered_gradient(name)) {
    return {.registered = found};
  }
  return {.op = &find_op_def(name)};
}

// By the op that the user named.
std::vector<Output> gradients_of_other_op(const OpDef& op, const GradientContext& context) {
  const Node& node = context.node;
  const auto error = [&](const std::string& what) {
    return invalid_argument(
        "gradients: {} in place of {}, got {}, expected an op with such inputs and attributes, {}",
        op.name, node.op_name(), what, node.describe());
  };
  std::vector<bool> wanted = context.inputs_wanted;
  wanted.resize(wanted.size() + 8);  // it may ask for inputs that are not there
  GradientContext as_other{context.node, context.output_gradients, wanted};
  std::vector<Output> result;
  try {
    result = op.gradient(as_other);
  } catch (const std::exception& failed) {  // it reads inputs or attributes that are not there
    throw error(failed.what());
  }
  if (static_cast<int>(result.size()) == node.num_inputs()) return result;
  throw error(fmt::format("{} for {}", counted(std::ssize(result), "gradient"),
                          counted(node.num_inputs(), "input")));
}

std::vector<Output> registered_gradients(const RegisteredGradient& gradient,
                                         const GradientContext& context) {
  Node& node = context.node;
  std::vector<Output> grads;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const bool differs = carries_gradient(node.output(i));
    grads.push_back(differs ? context.grad(i) : Output());
  }
  std::vector<Output> result = gradient(node, grads);
  if (static_cast<int>(result.size()) != node.num_inputs()) {
    throw invalid_argument("gradients: '{}', got {} gradients, expected {}, one for each input, {}",
                           std::get<std::string>(node.attrs().find(kGradientOpType)->second),
                           result.size(), node.num_inputs(), node.describe());
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& found = result[i];
    const TensorType& want = node.input(i).type();
    if (!found.valid() ||
        (found.dtype() == want.dtype && found.shape().compatible_with(want.shape)))
      continue;
    throw invalid_argument("gradients: '{}' for input {}, got {}, expected {}, {}",
                           std::get<std::string>(node.attrs().find(kGradientOpType)->second), i,
                           found.type(), want, node.describe());
  }
  return result;
}

class Backpropagation {
 public:
  Backpropagation(Graph& graph, const std::vector<Output>& xs, const std::vector<Output>& stops)
      : graph_(graph), stops_(stops.begin(), stops.end()) {
    for (const Output& x : xs) wanted_.insert(x);
  }

  void seed(const Output& y, const Output& given) {
    Output gradient = given;
    if (!gradient.valid()) {
      const NameScope scope("grad_ys");
      gradient = graph_.add_node("OnesLike", {y})->output();
    }
    gradients_[y].push_back(gradient);
  }

  // From the last node to the first: every user of a value comes after it.
  void run(const std::vector<Output>& ys) {
    mark_needed(ys);
    for (Node* node : needed_backwards_) visit(*node);
  }

  // The sum of what has come in for `output`; invalid when nothing has.
  Output total(const Output& output) {
    const auto it = gradients_.find(output);
    if (it == gradients_.end()) return {};
    std::vector<Output>& terms = it->second;
    if (terms.size() > 1) terms = {added_up(output, terms)};
    return terms[0];
  }

 private:
  bool stopped(const Output& output) const { return stops_.contains(output); }

  // A node is needed when one of its inputs depends on a wanted value and a y depends on it.
  void mark_needed(const std::vector<Output>& ys) {
    std::vector<Node*> reachable;
    std::unordered_set<Node*> seen;
    std::vector<Node*> pending;
    const auto push = [&](const Output& output) {
      if (carries_gradient(output) && !stopped(output) && seen.insert(output.node()).second) {
        pending.push_back(output.node());
      }
    };
    for (const Output& y : ys) push(y);
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      reachable.push_back(node);
      for (const Output& input : node->inputs()) push(input);
    }
    std::ranges::sort(reachable, {}, &Node::id);
    for (Node* node : reachable) {
      if (std::ranges::any_of(node->inputs(), [&](const Output& x) { return leads_back(x); })) {
        needed_.insert(node);
        needed_backwards_.push_back(node);
      }
    }
    std::ranges::reverse(needed_backwards_);
  }

  // True when a gradient for `input` is of use.
  bool leads_back(const Output& input) const {
    if (!carries_gradient(input)) return false;
    return wanted_.contains(input) || (!stopped(input) && needed_.contains(input.node()));
  }

  // A variable that several lookups read gets the rows of all.
  Output added_up(const Output& output, const std::vector<Output>& terms) {
    if (output.dtype() == DType::resource || output.node()->op_name() == "ReadVariableOp") {
      if (const auto joined = joined_slices(terms)) return *joined;
    }
    return graph_.add_node("AddN", terms)->output();
  }

  void visit(Node& node) {
    std::vector<Output> incoming;
    bool any = false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Output output = node.output(i);
      incoming.push_back(stopped(output) || !carries_gradient(output) ? Output() : total(output));
      any = any || incoming.back().valid();
    }
    if (!any) return;
    const OverriddenGradient given = overridden_gradient(node);
    if (blocks_gradient(node)) return;
    if (given.registered == nullptr && given.op->gradient == nullptr) {
      throw invalid_argument(
          "gradients: op without a gradient, got {}, {}, expected a differentiable op",
          given.op->name, node.describe());
    }
    const NameScope scope(node.name() + "_grad");
    const WhereScope where(node.where(), /*overrides=*/true);
    std::vector<bool> wanted;
    for (const Output& input : node.inputs()) wanted.push_back(leads_back(input));
    GradientContext context{node, incoming, wanted};
    const std::vector<Output> outgoing =
        given.registered != nullptr ? registered_gradients(*given.registered, context)
        : given.op != &node.op()    ? gradients_of_other_op(*given.op, context)
                                    : given.op->gradient(context);
    if (static_cast<int>(outgoing.size()) != node.num_inputs()) {
      throw internal_error("gradients: {}, got {} gradients, expected {}, {}", node.op_name(),
                           outgoing.size(), node.num_inputs(), node.describe());
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      accumulate(node, i, outgoing[i]);
    }
  }

  void accumulate(const Node& node, int i, const Output& gradient) {
    const Output input = node.input(i);
    if (!gradient.valid() || !leads_back(input)) return;
    const bool handle = input.dtype() == DType::resource;
    if (!handle &&
        (gradient.dtype() != input.dtype() || !gradient.shape().compatible_with(input.shape()))) {
      throw internal_error("gradients: {} for input {}, got {}, expected {}, {}", node.op_name(), i,
                           gradient.type(), input.type(), node.describe());
    }
    gradients_[input].push_back(gradient);
  }

  Graph& graph_;
  std::unordered_set<Output> wanted_;
  std::unordered_set<Output> stops_;
  std::unordered_set<Node*> needed_;
  std::vector<Node*> needed_backwards_;
  std::unordered_map<Output, std::vector<Output>> gradients_;
};

void check_ys(const std::vector<Output>& ys, const std::vector<Output>& grad_ys) {
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    throw invalid_argument("gradients: number of grad_ys, got {}, expected {}", grad_ys.size(),
                           ys.size());
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    if (!ys[i].valid()) throw invalid_argument("gradients: y {}, got none, expected a tensor", i);
    if (!is_floating(ys[i].dtype()) && !is_complex(ys[i].dtype())) {
      throw invalid_argument("gradients: y '{}', got {}, expected a floating type, {}",
                             ys[i].name(), ys[i].type(), ys[i].node()->describe());
    }
    if (grad_ys.empty() || !grad_ys[i].valid()) continue;
    const TensorType& got = grad_ys[i].type();
    if (got.dtype != ys[i].dtype() || !got.shape.compatible_with(ys[i].shape())) {
      throw invalid_argument("gradients: grad_y for '{}', got {}, expected {}", ys[i].name(), got,
                             ys[i].type());
    }
  }
}

// `value` as the graph sees it: itself, or the argument that stands for it; invalid when the graph
// does not use it.
Output seen_from(const Graph& graph, const Output& value) {
  if (&value.graph() == &graph) return value;
  const auto captured = std::ranges::find(graph.captures(), value);
  if (captured == graph.captures().end()) return {};
  const size_t declared = graph.arguments().size() - graph.captures().size();
  return graph.arguments()[declared + static_cast<size_t>(captured - graph.captures().begin())];
}

// Where the gradient for x is found. A variable's snapshot stands for the variable, whose gradient
// is the sum over all its reads: that arrives at the handle, and in a function also at the snapshot
// it captured.
std::vector<Output> sources_of(const Graph& graph, const std::vector<Output>& stops,
                               const Output& x) {
  std::vector<Output> candidates = {x};
  const bool snapshot =
      x.node()->op_name() == "ReadVariableOp" && x.node()->attr<bool>("_snapshot");
  if (snapshot && std::ranges::find(stops, x) == stops.end()) {
    if (&x.graph() == &graph) candidates.clear();
    candidates.push_back(x.node()->input(0));
  }
  std::vector<Output> result;
  for (const Output& candidate : candidates) {
    if (const Output seen = seen_from(graph, candidate); seen.valid()) result.push_back(seen);
  }
  return result;
}

}  // namespace

bool blocks_gradient(const Node& node) {
  const OverriddenGradient given = overridden_gradient(node);
  return given.registered == nullptr && given.op->traits.blocks_gradient;
}

std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                              const GradientsOptions& options) {
  check_ys(ys, options.grad_ys);
  if (ys.empty()) return std::vector<Output>(xs.size());
  Graph& graph = ys[0].graph();
  const GraphScope graph_scope(graph);
  const NameScope name_scope("gradients");
  std::vector<std::vector<Output>> sources;
  std::vector<Output> wanted;
  for (const Output& x : xs) {
    if (!x.valid()) throw invalid_argument("gradients: x, got none, expected a tensor");
    sources.push_back(sources_of(graph, options.stop_gradients, x));
    wanted.insert(wanted.end(), sources.back().begin(), sources.back().end());
  }
  Backpropagation backpropagation(graph, wanted, options.stop_gradients);
  for (size_t i = 0; i < ys.size(); ++i) {
    backpropagation.seed(ys[i], options.grad_ys.empty() ? Output() : options.grad_ys[i]);
  }
  backpropagation.run(ys);
  std::vector<Output> result;
  for (const auto& alternatives : sources) {
    std::vector<Output> terms;
    for (const Output& source : alternatives) {
      if (const Output term = backpropagation.total(source); term.valid()) terms.push_back(term);
    }
    if (terms.size() > 1) terms = {graph.add_node("AddN", terms)->output()};
    result.push_back(terms.empty() ? Output() : terms[0]);
  }
  return result;
}

}  // namespace systole
