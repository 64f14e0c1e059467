#include "systole/graph/ops/control_flow/control_flow.h"

#include <algorithm>
#include <unordered_set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/lowering/plan.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

// Ops that nothing needs are never run, so what only they use must not be asked for either.
void share_needed_captures(Graph& a, Graph& b) {
  for (Graph* function : {&a, &b}) function->keep_captures(plan_function(*function).needed);
  Graph::share_captures(a, b);
}

}  // namespace

std::vector<Output> add_if(Output pred, std::shared_ptr<Graph> then_branch,
                           std::shared_ptr<Graph> else_branch, SourceLocation where,
                           std::string_view name) {
  share_needed_captures(*then_branch, *else_branch);
  std::vector<Output> inputs = {pred};
  const auto captures = then_branch->captures();
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  Node* node = Graph::current().add_node("If", std::move(inputs),
                                         {{"then_branch", FunctionRef(std::move(then_branch))},
                                          {"else_branch", FunctionRef(std::move(else_branch))}},
                                         where, name);
  return node->outputs();
}

namespace {

std::vector<Output> declare_arguments(Graph& function, const std::vector<Output>& initial,
                                      SourceLocation where) {
  std::vector<Output> arguments;
  for (const Output& value : initial) {
    arguments.push_back(function.add_argument(value.type(), "arg", where));
  }
  return arguments;
}

}  // namespace

void check_loop_results(std::string_view op, std::string_view fn, std::span<const Output> arguments,
                        std::span<const Output> results) {
  if (results.size() != arguments.size()) {
    throw invalid_argument("{}: number of results of {}, got {}, expected {}", op, fn,
                           results.size(), arguments.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].valid()) {
      throw invalid_argument("{}: result {} of {}, got none, expected a tensor", op, i, fn);
    }
    const TensorType& got = results[i].type();
    const TensorType& wanted = arguments[i].type();
    if (got.dtype != wanted.dtype || !got.shape.compatible_with(wanted.shape)) {
      throw invalid_argument("{}: result {} of {}, got {}, expected {}", op, i, fn, got, wanted);
    }
  }
}

// As TensorFlow's While has it, captured values are loop variables that the body returns as they
// are. Collected values follow them: captured zeros that it returns changed.
Node* add_while(const WhileSpec& spec, SourceLocation where, std::string_view name) {
  Graph& graph = Graph::current();
  const auto cond = Graph::make_function(graph);
  const auto body = Graph::make_function(graph);
  const std::vector<Output> cond_arguments = declare_arguments(*cond, spec.initial, where);
  const std::vector<Output> body_arguments = declare_arguments(*body, spec.initial, where);
  {
    const GraphScope scope(*cond);
    const Output result = spec.cond(cond_arguments);
    if (!result.valid() || result.type() != TensorType{DType::pred, {}}) {
      throw invalid_argument("while_loop: result of the condition, got {}, expected pred[]",
                             result.valid() ? result.type().to_string() : "none");
    }
    cond->set_results({result});
  }
  std::vector<Output> results;
  {
    const GraphScope scope(*body);
    results = spec.body(body_arguments);
    if (!spec.collects) check_loop_results("while_loop", "the body", body_arguments, results);
    body->set_results(results);
  }
  share_needed_captures(*cond, *body);
  const auto carried = static_cast<std::ptrdiff_t>(body_arguments.size());
  const auto returned = body->results();
  results.assign(returned.begin(), returned.begin() + carried);
  const auto passed_on = body->arguments().subspan(body_arguments.size());
  results.insert(results.end(), passed_on.begin(), passed_on.end());
  for (const Output& collected : returned.subspan(body_arguments.size())) {
    body->capture(zeros(collected.shape(), collected.dtype()));
    results.push_back(collected);
  }
  Graph::share_captures(*cond, *body);
  body->set_results(std::move(results));

  std::vector<Output> inputs = spec.initial;
  inputs.insert(inputs.end(), body->captures().begin(), body->captures().end());
  return graph.add_node("While", std::move(inputs),
                        {{"cond", FunctionRef(cond)},
                         {"body", FunctionRef(body)},
                         {"_maximum_iterations", spec.maximum_iterations},
                         {"_iteration_var", spec.iteration_var}},
                        where, name);
}

Output FunctionCopy::operator()(Output value) {
  if (const auto it = copies_.find(value); it != copies_.end()) return it->second;
  for (Node* node : cone_of(value)) copy_node(*node);
  return copies_.at(value);
}

std::span<Node* const> FunctionCopy::controls_of(const Node& node) const {
  if (controls_ == Controls::dropped || node.op_name() == "_Arg") return {};
  return node.control_inputs();
}

// The nodes that `value` needs and that have no copies yet, inputs first.
std::vector<Node*> FunctionCopy::cone_of(const Output& value) const {
  std::vector<Node*> cone;
  std::unordered_set<Node*> seen = {value.node()};
  std::vector<Node*> pending = {value.node()};
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    cone.push_back(node);
    const auto need = [&](Node* other) {
      if (!nodes_.contains(other) && seen.insert(other).second) pending.push_back(other);
    };
    for (const Output& input : node->inputs()) need(input.node());
    for (Node* control : controls_of(*node)) need(control);
  }
  std::ranges::sort(cone, {}, &Node::id);
  return cone;
}

Output FunctionCopy::copied_argument(int i) const {
  const auto it = copies_.find(function_.arguments()[i]);
  return it == copies_.end() ? Output() : it->second;
}

void FunctionCopy::copy_node(Node& node) {
  if (node.op_name() == "_Arg") {
    const auto position = std::ranges::find(function_.arguments(), node.output());
    const Output given = argument_(static_cast<int>(position - function_.arguments().begin()));
    copies_[node.output()] = Graph::current().capture(given);
    nodes_[&node] = copies_[node.output()].node();
    return;
  }
  if (node.op_name() == "ReadVariableOp" && !node.attr<bool>("_snapshot")) {
    throw unimplemented(
        "gradients: read_value of '{}' in a function, got {}, expected the variable itself or a "
        "value read before",
        node.input(0).node()->name(), node.describe());
  }
  const WhereScope where(node.where(), /*overrides=*/true);
  std::vector<Output> inputs;
  for (const Output& input : node.inputs()) inputs.push_back(copies_.at(input));
  std::vector<Operation> controls;
  for (Node* control : controls_of(node)) controls.emplace_back(nodes_.at(control));
  const ControlDependencies after(controls);
  Node* copy =
      Graph::current().add_node(node.op_name(), std::move(inputs), node.attrs(), {}, node.name());
  nodes_[&node] = copy;
  for (int i = 0; i < node.num_outputs(); ++i) copies_[node.output(i)] = copy->output(i);
}

bool draws_random_numbers(const Graph& function) {
  return std::ranges::any_of(function.nodes(), [](const auto& node) {
    return is_random(*node) || std::ranges::any_of(node->attrs(), [](const auto& attr) {
             const auto* inner = std::get_if<FunctionRef>(&attr.second);
             return inner != nullptr && draws_random_numbers(**inner);
           });
  });
}

}  // namespace systole
