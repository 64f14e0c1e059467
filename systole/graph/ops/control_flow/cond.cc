#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/variable_handle.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/lowering/lower_region.h"
#include "systole/graph/ops/control_flow/control_flow.h"

namespace systole {
namespace {

const Graph& branch_of(const Node& node, bool taken) {
  return *node.attr<FunctionRef>(taken ? "then_branch" : "else_branch");
}

// The type of both: a size that one knows is the other's, too.
TensorType agreed_type(size_t i, const TensorType& x, const TensorType& y) {
  if (x.dtype != y.dtype || !x.shape.compatible_with(y.shape)) {
    throw invalid_argument("result {} of the branches, got {} and {}, expected one type", i, x, y);
  }
  TensorType type = x;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    if (x.shape[axis] == kUnknown) type.shape.set_dim(axis, y.shape[axis]);
  }
  return type;
}

std::vector<TensorType> infer_cond(const InferContext& c) {
  if (c.input(0) != TensorType{DType::pred, {}}) {
    throw invalid_argument("pred, got {}, expected pred[]", c.input(0));
  }
  const auto x = c.attr<FunctionRef>("then_branch")->results();
  const auto y = c.attr<FunctionRef>("else_branch")->results();
  if (x.size() != y.size()) {
    throw invalid_argument("number of results of the branches, got {} and {}, expected one number",
                           x.size(), y.size());
  }
  std::vector<TensorType> types;
  for (size_t i = 0; i < x.size(); ++i) types.push_back(agreed_type(i, x[i].type(), y[i].type()));
  return types;
}

// A branch returns its results, the variables that either branch assigns, and the checks of both:
// its own, and false for the other's.
void finish_branch(RegionDraft& draft, LoweredFunction lowered, size_t checks_before,
                   size_t checks_behind) {
  std::vector<hlo::Value> results = std::move(lowered.results);
  results.insert(results.end(), lowered.variables.begin(), lowered.variables.end());
  const auto add_false = [&](size_t n) {
    for (size_t i = 0; i < n; ++i) results.push_back(draft.b().constant(Tensor(false)));
  };
  add_false(checks_before);
  for (const auto& check : lowered.checks) results.push_back(check.failed);
  add_false(checks_behind);
  draft.computation().set_results(std::move(results));
}

std::vector<hlo::Value> lower_cond(LowerContext& c) {
  const Graph& then_branch = branch_of(c.node, true);
  const Graph& else_branch = branch_of(c.node, false);
  std::vector<const Node*> assigned = assigned_variables(then_branch);
  for (const Node* variable : assigned_variables(else_branch)) {
    if (std::ranges::find(assigned, variable) == assigned.end()) assigned.push_back(variable);
  }
  const auto arguments = c.inputs.subspan(1);
  RegionDraft then_draft(c, "then");
  RegionDraft else_draft(c, "else");
  LoweredFunction on_true = lower_into(c, then_draft, then_branch, arguments, assigned);
  LoweredFunction on_false = lower_into(c, else_draft, else_branch, arguments, assigned);
  std::vector<Lowering::RegionCheck> checks = on_true.checks;
  checks.insert(checks.end(), on_false.checks.begin(), on_false.checks.end());
  const size_t num_then = on_true.checks.size();
  const size_t num_else = on_false.checks.size();
  finish_branch(then_draft, std::move(on_true), 0, num_else);
  finish_branch(else_draft, std::move(on_false), num_then, 0);

  hlo::Instruction* branches =
      c.b.op_with_regions(hlo::Opcode::if_, {c.input(0)}, hlo::NoAttrs{}, [&](hlo::Instruction& i) {
        then_draft.clone_into(i.add_region());
        else_draft.clone_into(i.add_region());
      });
  int next = 0;
  std::vector<hlo::Value> results;
  while (next < c.node.num_outputs()) results.push_back(branches->result(next++));
  for (const Node* variable : assigned)
    c.lowering.assign_variable(*variable, branches->result(next++));
  for (auto& [failed, check] : checks) {
    c.lowering.check(branches->result(next++), check.code, std::move(check.message));
  }
  return results;
}

// The gradient of a branch as a branch: its values again, and from them the gradient for each
// captured value; invalid where there is none.
std::vector<Output> branch_gradients(GradientContext& c, bool taken) {
  const Graph& branch = branch_of(c.node, taken);
  FunctionCopy copy(branch, [&](int i) { return c.input(1 + i); });
  std::vector<Output> ys;
  GradientsOptions options;
  for (size_t i = 0; i < branch.results().size(); ++i) {
    if (!c.output_gradients[i].valid()) continue;
    ys.push_back(copy(branch.results()[i]));
    options.grad_ys.push_back(c.output_gradients[i]);
  }
  std::vector<Output> xs;
  std::vector<size_t> positions;
  for (size_t i = 0; i < branch.arguments().size(); ++i) {
    const auto position = static_cast<int>(i);
    const Output x = copy.copied_argument(position);
    if (!x.valid() || !c.wanted(1 + position)) continue;
    xs.push_back(x);
    positions.push_back(i);
  }
  const std::vector<Output> found = gradients(ys, xs, options);
  std::vector<Output> result(branch.arguments().size());
  for (size_t i = 0; i < found.size(); ++i) result[positions[i]] = found[i];
  return result;
}

// Results of a gradient branch: what the other branch has a gradient for is zeros here.
void set_gradient_results(GradientContext& c, Graph& function, const std::vector<Output>& own,
                          const std::vector<Output>& other) {
  const GraphScope scope(function);
  std::vector<Output> results;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].valid()) {
      results.push_back(own[i]);
    } else if (other[i].valid()) {
      results.push_back(zeros_like(c.input(1 + static_cast<int>(i))));
    }
  }
  function.set_results(std::move(results));
}

std::vector<Output> cond_gradient(GradientContext& c) {
  Graph& graph = Graph::current();
  const auto then_branch = Graph::make_function(graph);
  const auto else_branch = Graph::make_function(graph);
  std::vector<Output> on_true;
  std::vector<Output> on_false;
  {
    const GraphScope scope(*then_branch);
    on_true = branch_gradients(c, true);
  }
  {
    const GraphScope scope(*else_branch);
    on_false = branch_gradients(c, false);
  }
  set_gradient_results(c, *then_branch, on_true, on_false);
  set_gradient_results(c, *else_branch, on_false, on_true);
  const std::vector<Output> found =
      add_if(c.input(0), then_branch, else_branch, c.node.where(), "cond");
  std::vector<Output> result(static_cast<size_t>(c.node.num_inputs()));
  size_t next = 0;
  for (size_t i = 0; i < on_true.size(); ++i) {
    if (on_true[i].valid() || on_false[i].valid()) result[1 + i] = found[next++];
  }
  return result;
}

// All arguments of the branches are captures, so that handles of variables are known in them.
std::vector<Output> import_if(const ImportContext& c) {
  const Output pred = c.input(0);
  const std::span<const Output> values = std::span(c.inputs).subspan(1);
  const auto then_branch = c.function("then_branch", {}, values);
  const auto else_branch = c.function("else_branch", {}, values);
  std::vector<Output> inputs = {pred};
  inputs.insert(inputs.end(), then_branch->captures().begin(), then_branch->captures().end());
  return c.add(std::move(inputs), {{"then_branch", FunctionRef(then_branch)},
                                   {"else_branch", FunctionRef(else_branch)}});
}

}  // namespace

std::vector<Output> cond(const Input& pred, const BranchFn& true_fn, const BranchFn& false_fn,
                         const NameOptions& options) {
  Graph& graph = Graph::current();
  const Output condition = resolve("cond", pred);
  const auto then_branch = Graph::make_function(graph);
  const auto else_branch = Graph::make_function(graph);
  const auto build = [](Graph& function, const BranchFn& fn) {
    const GraphScope scope(function);
    std::vector<Output> results = fn();
    for (const Output& result : results) {
      if (!result.valid()) {
        throw invalid_argument("cond: result of a branch, got none, expected a tensor");
      }
    }
    function.set_results(std::move(results));
  };
  build(*then_branch, true_fn);
  build(*else_branch, false_fn);
  const std::string name = options.name.empty() ? "cond" : options.name;
  return add_if(condition, then_branch, else_branch, pred.where(), name);
}

Output cond(const Input& pred, const std::function<Output()>& true_fn,
            const std::function<Output()>& false_fn, const NameOptions& options) {
  return cond(pred, BranchFn([&] { return std::vector{true_fn()}; }),
              BranchFn([&] { return std::vector{false_fn()}; }), options)[0];
}

namespace ops {
extern const OpDef op_cond{
    .name = "If",
    .doc = "The results of one of two functions.",
    .inputs = "cond: Tcond, input: Tin",
    .outputs = "output: Tout",
    .attrs = "Tin: list(type), Tout: list(type), then_branch: func, else_branch: func",
    .graph_def = {.aliases = "StatelessIf", .import_node = import_if},
    .infer = infer_cond,
    .lower = lower_cond,
    .gradient = cond_gradient,
};
}  // namespace ops
}  // namespace systole
