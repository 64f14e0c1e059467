#include "systole/graph/control_flow.h"

#include <algorithm>
#include <unordered_set>

#include "systole/graph/array_ops.h"
#include "systole/graph/functional_ops.h"
#include "systole/graph/loop_gradient.h"
#include "systole/graph/loop_lowering.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/op_def.h"
#include "systole/graph/plan.h"
#include "systole/graph/random_state.h"
#include "systole/graph/set_shape.h"
#include "systole/graph/where_scope.h"

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
  std::vector<Output> results;
  for (int i = 0; i < node->num_outputs(); ++i) results.push_back(node->output(i));
  return results;
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

// What `fn`, "the body", returns takes the places of its arguments.
void check_results(std::string_view op, std::string_view fn, std::span<const Output> arguments,
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

}  // namespace

// As TensorFlow's While has it, captured values are loop variables that the body returns as they
// are.
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
    check_results("while_loop", "the body", body_arguments, results);
    body->set_results(results);
  }
  share_needed_captures(*cond, *body);
  results.assign(body->results().begin(), body->results().end());
  const auto passed_on = body->arguments().subspan(body_arguments.size());
  results.insert(results.end(), passed_on.begin(), passed_on.end());
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
  std::vector<Node*> cone;
  std::unordered_set<Node*> seen = {value.node()};
  std::vector<Node*> pending = {value.node()};
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    cone.push_back(node);
    for (const Output& input : node->inputs()) {
      if (!copies_.contains(input) && seen.insert(input.node()).second) {
        pending.push_back(input.node());
      }
    }
  }
  std::ranges::sort(cone, {}, &Node::id);
  for (Node* node : cone) copy_node(*node);
  return copies_.at(value);
}

Output FunctionCopy::copied_argument(int i) const {
  const auto it = copies_.find(function_.arguments()[static_cast<size_t>(i)]);
  return it == copies_.end() ? Output() : it->second;
}

void FunctionCopy::copy_node(Node& node) {
  if (node.op_name() == "_Arg") {
    const auto position = std::ranges::find(function_.arguments(), node.output());
    const Output given = argument_(static_cast<int>(position - function_.arguments().begin()));
    copies_[node.output()] = Graph::current().capture(given);
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
  Node* copy =
      Graph::current().add_node(node.op_name(), std::move(inputs), node.attrs(), {}, node.name());
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

// -- Scans

namespace {

int64_t number_of_rows(const std::vector<Output>& elems) {
  int64_t rows = kUnknown;
  for (const Output& elem : elems) {
    const int64_t these = elem.shape().rank() > 0 ? elem.shape()[0] : 0;
    if (these == 0 || (rows != kUnknown && these != kUnknown && these != rows)) {
      throw at_line(invalid_argument("scan: elems, got {}, expected {} rows", elem.type(),
                                     rows == kUnknown ? "one or more" : std::to_string(rows)),
                    {});
    }
    rows = these == kUnknown ? rows : these;
  }
  return rows;
}

// The rows of this step. Where a number of rows is known only at run time, that all have as many is
// checked then, against those of the first.
std::vector<Output> rows_at(const std::vector<Output>& elems, const Output& place) {
  const bool known =
      std::ranges::none_of(elems, [](const Output& elem) { return elem.shape()[0] == kUnknown; });
  std::vector<Output> rows;
  for (const Output& elem : elems) {
    rows.push_back(known ? read_history(elem, place) : read_row(elem, place, elems[0]));
  }
  return rows;
}

std::vector<Output> checked_step(const ScanFn& fn, std::span<const Output> state,
                                 const std::vector<Output>& elements) {
  std::vector<Output> next = fn({state.begin(), state.end()}, elements);
  try {
    check_results("scan", "fn", state, next);
  } catch (const Error& error) {
    throw at_line(error, {});
  }
  return next;
}

// A loop keeps each variable's values at the start of all iterations: all but the first, and the
// last one.
Output stacked_states(Node& loop, const WhileOutputs& outputs, int i, int64_t rows, bool reversed) {
  const Output history = loop.output(outputs.history(i));
  const Output last = loop.output(outputs.value(i));
  Dims dims = {rows};
  dims.insert(dims.end(), last.shape().begin(), last.shape().end());
  const Output stacked = set_shape(
      concat({strided_slice(history, {1}, {0}, {.end_mask = 1}), expand_dims(last, 0)}, 0),
      Shape(dims));
  return reversed ? reverse(stacked, 0) : stacked;
}

}  // namespace

Scan scan(const ScanFn& fn, const InputList& elems, const InputList& initializer,
          const ScanOptions& options) {
  if (elems.inputs().empty()) {
    throw at_line(invalid_argument("scan: elems, got none, expected at least one tensor"), {});
  }
  const WhereScope where(elems.inputs().front().where());
  const NameScope scope(options.name);
  std::vector<Output> rows_of;
  for (const Input& elem : elems.inputs()) rows_of.push_back(elem.resolve());
  const int64_t rows = number_of_rows(rows_of);
  const Output count =
      rows == kUnknown ? gather(shape(rows_of[0]), 0) : constant(static_cast<int32_t>(rows));
  std::vector<Output> initial = {constant(int32_t{0})};
  for (const Input& state : initializer.inputs()) initial.push_back(state.resolve());
  const auto step = [&](const std::vector<Output>& vars) {
    const Output place = options.reverse ? count - 1 - vars[0] : vars[0];
    std::vector<Output> next =
        checked_step(fn, std::span(vars).subspan(1), rows_at(rows_of, place));
    next.insert(next.begin(), vars[0] + 1);
    return next;
  };
  Node* loop = add_while({.initial = initial,
                          .cond = [&](const auto& vars) { return less(vars[0], count); },
                          .body = step},
                         WhereScope::current(), "while");
  const WhileOutputs outputs{loop->num_inputs()};  // what fn captures is behind the states
  Scan result;
  for (int i = 1; i < static_cast<int>(initial.size()); ++i) {
    result.stacked.push_back(stacked_states(*loop, outputs, i, rows, options.reverse));
    result.last.push_back(loop->output(outputs.value(i)));
  }
  return result;
}

Output scan(const std::function<Output(const Output& state, const Output& element)>& fn,
            Input elems, Input initializer, const ScanOptions& options) {
  return scan([&](const std::vector<Output>& state, const std::vector<Output>& elements)
                  -> std::vector<Output> { return {fn(state[0], elements[0])}; },
              {elems}, {initializer}, options)
      .stacked[0];
}

}  // namespace systole
