#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/run_check.h"

namespace systole {
namespace {

std::vector<TensorType> infer_assert(const InferContext& c) {
  if (c.input(0) != TensorType{DType::pred, {}}) {
    throw invalid_argument("condition, got {}, expected pred[]", c.input(0));
  }
  const std::optional<Tensor> known = c.constant_input(0);
  const bool may_never_run = c.inputs[0].graph().outer() != nullptr;  // a branch, a body
  if (known && !known->item<bool>() && !may_never_run) {
    throw invalid_argument("assertion failed: {}", c.attr<std::string>("_message"));
  }
  return {};
}

std::vector<hlo::Value> lower_assert(LowerContext& c) {
  fail_where(c, c.b.unary(hlo::Opcode::not_, c.input(0)),
             fmt::format("Assert: assertion failed: {}, {}", c.attr<std::string>("_message"),
                         c.node.describe()));
  return {};
}

// TensorFlow's has values to show, one at least, and no text of its own: the condition stands for
// them.
void export_assert(ExportContext& c) {
  const std::string condition = c.reference(c.node.input(0));
  c.records.push_back({"Assert",
                       c.node.name(),
                       {condition, condition},
                       {{"T", std::vector<std::string>{"bool"}},
                        {"_message", c.node.attr<std::string>("_message")}}});
}

std::vector<Output> import_assert(const ImportContext& c) {
  auto message = c.attr<std::string>("_message");
  for (size_t i = 1; i < c.inputs.size() && message.empty(); ++i) {
    const std::optional<Tensor> value = constant_value(c.inputs[i]);
    if (value && value->dtype() == DType::string && value->rank() == 0) {
      message = value->item<std::string>();
    }
  }
  return c.add({c.input(0)}, {{"_message", message}});
}

}  // namespace

Operation assert_op(const Input& condition, const AssertOptions& options) {
  return Graph::current().add_node("Assert", {resolve("Assert", condition)},
                                   {{"_message", options.message}}, condition.where(),
                                   options.name);
}

namespace ops {
extern const OpDef op_assert{
    .name = "Assert",
    .doc = "Fails the run when its input is false.",
    .inputs = "condition: bool, data: T",
    .attrs = "T: list(type), summarize: int = 3, _message: string = ''",
    .graph_def = {.import_node = import_assert, .export_node = export_assert},
    .infer = infer_assert,
    .lower = lower_assert,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
