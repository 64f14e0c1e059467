#include "systole/graph/api/py_func.h"

#include <atomic>
#include <memory>
#include <utility>

#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

// What the node's attribute "_function" refers to: so the function lives as long as nodes that call
// it.
struct HostFnHolder : Graph {
  HostFn call;
  std::vector<TensorType> types;
};

const HostFnHolder& function_of(const AttrMap& attrs) {
  return static_cast<const HostFnHolder&>(*std::get<FunctionRef>(attrs.at("_function")));
}

std::vector<Tensor> run_py_func(HostContext& c) {
  const HostFnHolder& function = function_of(c.node.attrs());
  std::vector<Tensor> results;
  try {
    results = function.call(c.inputs);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Code::unknown, error.what());
  }
  if (results.size() != function.types.size()) {
    throw invalid_argument("number of results of the function, got {}, expected {}", results.size(),
                           function.types.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType& type = function.types[i];
    if (results[i].dtype() == type.dtype && results[i].shape().compatible_with(type.shape))
      continue;
    throw invalid_argument("result {} of the function, got {}, expected {}", i,
                           results[i].valid() ? results[i].type().to_string() : "none", type);
  }
  return results;
}

}  // namespace

std::vector<Output> py_func(HostFn func, const InputList& inputs,
                            const std::vector<TensorType>& Tout, const NameOptions& options) {
  const SourceLocation where =
      inputs.inputs().empty() ? SourceLocation() : inputs.inputs()[0].where();
  if (func == nullptr) {
    throw at_line(invalid_argument("PyFunc: func, got none, expected a function"), where);
  }
  std::vector<Output> values;
  for (const Input& input : inputs.inputs()) values.push_back(resolve("PyFunc", input));
  auto holder = std::make_shared<HostFnHolder>();
  holder->call = std::move(func);
  holder->types = Tout;
  // Two functions are never the same, whatever else of two graphs is.
  static std::atomic<int64_t> made{0};
  Node* node = Graph::current().add_node(
      "PyFunc", std::move(values),
      {{"token", fmt::format("pyfunc_{}", made++)}, {"_function", FunctionRef(holder)}}, where,
      options.name);
  return node->outputs();
}

Output py_func(std::function<Tensor(std::span<const Tensor> inputs)> func, const InputList& inputs,
               const TensorType& Tout, const NameOptions& options) {
  HostFn of_list;
  if (func != nullptr) {
    of_list = [func = std::move(func)](std::span<const Tensor> values) {
      return std::vector{func(values)};
    };
  }
  return py_func(std::move(of_list), inputs, std::vector{Tout}, options)[0];
}

namespace ops {
extern const OpDef op_py_func{
    .name = "PyFunc",
    .doc = "What a function of the program makes of its inputs, on the host.",
    .inputs = "input: Tin",
    .outputs = "output: Tout",
    .attrs = "Tin: list(type), Tout: list(type), token: string",
    .graph_def = {.impossible = "it calls a function of the program",
                  .tensorflow = TensorFlowOp::none},
    .infer = [](const InferContext& c) { return function_of(c.attrs).types; },
    .host = run_py_func,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
