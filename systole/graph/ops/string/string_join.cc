#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_string_join(const InferContext& c) {
  if (c.num_inputs() == 0) throw invalid_argument("inputs, got none, expected strings");
  Shape shape;
  for (int i = 0; i < c.num_inputs(); ++i) {
    check_strings("input", c.input(i));
    const Shape& other = c.input(i).shape;
    if (other.rank() == 0) continue;
    if (shape.rank() == 0) {
      shape = other;
    } else if (!shape.compatible_with(other)) {
      throw invalid_argument("input {}, got shape {}, expected [] or {}", i, other, shape);
    }
  }
  return {{DType::string, shape}};
}

std::vector<Tensor> run_string_join(HostContext& c) {
  const auto& separator = c.node.attr<std::string>("separator");
  Shape shape;
  for (const Tensor& input : c.inputs) {
    if (input.rank() != 0) shape = input.shape();
  }
  Tensor result(DType::string, shape);
  const auto texts = result.data<std::string>();
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const Tensor& input = c.inputs[k];
    if (input.rank() != 0 && input.shape() != shape) {
      throw invalid_argument("input {}, got shape {}, expected {}", k, input.shape(), shape);
    }
    const auto parts = input.data<std::string>();
    for (size_t i = 0; i < texts.size(); ++i) {
      if (k > 0) texts[i] += separator;
      texts[i] += parts[input.rank() == 0 ? 0 : i];
    }
  }
  return {result};
}

}  // namespace

Output string_join(const InputList& inputs, const StringJoinOptions& options) {
  const std::vector<Output> values = inputs.resolve();
  const SourceLocation where =
      inputs.inputs().empty() ? SourceLocation() : inputs.inputs()[0].where();
  return Graph::current()
      .add_node("StringJoin", values,
                {{"N", static_cast<int64_t>(values.size())}, {"separator", options.separator}},
                where, options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_join{
    .name = "StringJoin",
    .doc = "Strings at the same place, joined.",
    .inputs = "inputs: N * string",
    .outputs = "output: string",
    .attrs = "separator: string = ''",
    .infer = infer_string_join,
    .host = run_string_join,
    .batch = {.rule = batch_same_shape},
};
}  // namespace ops
}  // namespace systole
