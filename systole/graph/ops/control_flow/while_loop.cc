#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/lowering/loop_lowering.h"
#include "systole/graph/ops/control_flow/control_flow.h"
#include "systole/graph/ops/control_flow/loop_gradient.h"

namespace systole {
namespace {

std::vector<TensorType> infer_while_loop(const InferContext& c) {
  const Graph& body = *c.attr<FunctionRef>("body");
  std::vector<TensorType> types;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const TensorType& argument = body.arguments()[i].type();
    const TensorType& got = c.input(i);
    if (got.dtype != argument.dtype || !got.shape.compatible_with(argument.shape)) {
      throw invalid_argument("loop variable {}, got {}, expected {}", i, got, argument);
    }
    types.push_back(argument);
  }
  types.push_back({DType::s32, {}});
  for (int i = 0; i < c.num_inputs(); ++i) {
    TensorType history = types[i];
    Dims dims = {kUnknown};
    dims.insert(dims.end(), history.shape.begin(), history.shape.end());
    if (history.dtype != DType::resource) history.shape = Shape(dims);
    types.push_back(history);
  }
  return types;
}

// The number of captures is an attribute of ours; in other graphs, handles of variables at the end
// are captures.
std::vector<Output> import_while(const ImportContext& c) {
  const std::span<const Output> values = c.inputs;
  auto captures = static_cast<size_t>(c.attr<int64_t>("_captures"));
  if (captures > values.size()) {
    captures = 0;
    while (captures < values.size() &&
           values[values.size() - 1 - captures].dtype() == DType::resource) {
      ++captures;
    }
  }
  const auto declared = values.first(values.size() - captures);
  const auto captured = values.last(captures);
  AttrMap attrs = c.attrs;
  attrs.erase("_captures");
  attrs["cond"] = FunctionRef(c.function("cond", declared, captured));
  attrs["body"] = FunctionRef(c.function("body", declared, captured));
  check_loop_results("While", "the body", std::get<FunctionRef>(attrs["body"])->arguments(),
                     std::get<FunctionRef>(attrs["body"])->results());
  return c.add(c.inputs, std::move(attrs));
}

void export_while(ExportContext& c) {
  AttrMap attrs = c.node.attrs();
  attrs["_captures"] = static_cast<int64_t>(c.node.attr<FunctionRef>("body")->captures().size());
  std::vector<std::string> types;
  for (const Output& input : c.node.inputs()) {
    types.emplace_back(dtype_info(input.dtype()).tf_name);
  }
  attrs["T"] = std::move(types);
  c.records.push_back({"While", c.node.name(), c.inputs(), std::move(attrs)});
}

}  // namespace

std::vector<Output> while_loop(const LoopConditionFn& cond, const LoopBodyFn& body,
                               const InputList& loop_vars, const WhileLoopOptions& options) {
  if (options.maximum_iterations && *options.maximum_iterations < 0) {
    throw invalid_argument("while_loop: maximum_iterations, got {}, expected at least 0",
                           *options.maximum_iterations);
  }
  SourceLocation where;
  std::vector<Output> initial;
  for (const Input& input : loop_vars.inputs()) {
    if (!where.known()) where = input.where();
    initial.push_back(input.resolve());
  }
  const auto count = static_cast<int>(initial.size());
  Node* node = add_while({.initial = std::move(initial),
                          .cond = cond,
                          .body = body,
                          .maximum_iterations = options.maximum_iterations.value_or(-1)},
                         where, options.name);
  std::vector<Output> results;
  for (int i = 0; i < count; ++i) results.push_back(node->output(i));
  return results;
}

namespace ops {
extern const OpDef op_while_loop{
    .name = "While",
    .doc = "Applies a function to its loop variables as long as another is true of them.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs =
        "T: list(type), cond: func, body: func, _maximum_iterations: int = -1, "
        "_iteration_var: int = -1, "
        "_captures: int = -1",
    .graph_def = {.aliases = "StatelessWhile",
                  .import_node = import_while,
                  .export_node = export_while},
    .infer = infer_while_loop,
    .lower = [](LowerContext& c) { return LoopLowering(c).run(); },
    .gradient = loop_gradient,
};
}  // namespace ops
}  // namespace systole
