#include "systole/graph/debugging_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/op_def.h"

namespace systole {

Output print_op(const Input& input, const InputList& data, const PrintOptions& options) {
  if (Graph::current().outer() != nullptr) {
    throw at_line(unimplemented("Print: place, got the body of a loop or a branch, expected one "
                                "around it: return the tensor from there, and print it here"),
                  input.where());
  }
  std::vector<Output> inputs = {resolve("Print", input)};
  for (const Input& value : data.inputs()) inputs.push_back(resolve("Print", value));
  return Graph::current()
      .add_node("Print", std::move(inputs),
                {{"message", options.message},
                 {"first_n", options.first_n},
                 {"summarize", options.summarize}},
                input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_print;
// What writes is the session's kernel (session/host_plan.h): on a device this is an identity.
const OpDef op_print{
    .name = "Print",
    .doc = "Its first input; the others are written into the log.",
    .infer = [](const InferContext& c) { return std::vector{c.input(0)}; },
    .lower = [](LowerContext& c) { return std::vector{c.input(0)}; },
    .gradient =
        [](GradientContext& c) {
          std::vector<Output> result(static_cast<size_t>(c.node.num_inputs()));
          result[0] = c.grad();
          return result;
        },
};
}  // namespace ops
}  // namespace systole
