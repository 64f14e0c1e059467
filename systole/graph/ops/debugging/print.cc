#include <algorithm>
#include <optional>
#include <utility>

#include "systole/base/number_text.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/debugging/print_values.h"

namespace systole {

namespace {

// The value where it is known while the graph is built.
std::optional<Tensor> known_text(const Input& input) {
  if (input.dtype() != DType::string) return std::nullopt;
  if (!input.is_output()) return input.host_value();
  const Node& node = *input.resolve().node();
  if (node.op_name() != "Const") return std::nullopt;
  return node.attr<Tensor>("value");
}

}  // namespace

std::string print_values(const Tensor& value, int64_t summarize) {
  const int64_t size = value.num_elements();
  const int64_t shown = summarize < 0 ? size : std::min(size, summarize);
  std::string text;
  for (int64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ' ';
    text += value.dtype() == DType::string ? value.data<std::string>()[i] : number_text(value, i);
  }
  return shown < size ? text + "..." : text;
}

Output print_op(const Input& input, const InputList& data, const PrintOptions& options) {
  if (Graph::current().outer() != nullptr) {
    throw at_line(unimplemented("Print: place, got the body of a loop, a branch or the gradient of "
                                "a custom_gradient, expected the graph around it: return the "
                                "tensor from there, and print it here"),
                  input.where());
  }
  std::vector<Output> inputs = {resolve("Print", input)};
  // A device program has no strings: those that are known are kept beside the values, by their
  // places among the data.
  std::vector<int64_t> text_positions;
  std::vector<std::string> texts;
  for (size_t i = 0; i < data.inputs().size(); ++i) {
    const Input& value = data.inputs()[i];
    if (const std::optional<Tensor> text = known_text(value)) {
      text_positions.push_back(static_cast<int64_t>(i));
      texts.push_back(print_values(*text, options.summarize));
    } else {
      inputs.push_back(resolve("Print", value));
    }
  }
  return Graph::current()
      .add_node("Print", std::move(inputs),
                {{"message", options.message},
                 {"first_n", options.first_n},
                 {"summarize", options.summarize},
                 {"_text_positions", std::move(text_positions)},
                 {"_texts", std::move(texts)}},
                input.where(), options.name)
      ->output();
}

namespace ops {
// What writes is the session's kernel (session/host_plan.h): on a device this is an identity.
extern const OpDef op_print{
    .name = "Print",
    .doc = "Its first input; the others are written into the log.",
    .inputs = "input: T, data: U",
    .outputs = "output: T",
    .attrs =
        "U: list(type), message: string = '', first_n: int = -1, summarize: int = 3, "
        "_text_positions: list(int) = [], _texts: list(string) = []",
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
