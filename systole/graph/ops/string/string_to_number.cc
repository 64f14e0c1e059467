#include "systole/base/escape.h"
#include "systole/base/number_text.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_string_to_number(const InferContext& c) {
  check_strings("string_tensor", c.input(0));
  const DType dtype = c.attr<DType>("out_type");
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::s32 && dtype != DType::s64) {
    throw invalid_argument("out_type, got {}, expected f32, f64, s32 or s64", dtype);
  }
  return {{dtype, c.input(0).shape}};
}

template <class T>
Tensor numbers_of(const Tensor& texts) {
  return map_strings<T>(texts, [](const std::string& text) {
    const std::optional<T> number = parse_number<T>(text);
    if (number) return *number;
    throw invalid_argument("string, got {}, expected a number of {}", quoted_text(text),
                           dtype_of<T>());
  });
}

std::vector<Tensor> run_string_to_number(HostContext& c) {
  const Tensor& texts = c.inputs[0];
  switch (c.node.attr<DType>("out_type")) {
    case DType::s32:
      return {numbers_of<int32_t>(texts)};
    case DType::s64:
      return {numbers_of<int64_t>(texts)};
    case DType::f64:
      return {numbers_of<double>(texts)};
    default:
      return {numbers_of<float>(texts)};
  }
}

}  // namespace

Output string_to_number(const Input& string_tensor, const StringToNumberOptions& options) {
  return Graph::current()
      .add_node("StringToNumber", {resolve("StringToNumber", string_tensor)},
                {{"out_type", options.out_type}}, string_tensor.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_to_number{
    .name = "StringToNumber",
    .doc = "The number that each string spells.",
    .inputs = "string_tensor: string",
    .outputs = "output: out_type",
    .attrs = "out_type: type = float32",
    .infer = infer_string_to_number,
    .host = run_string_to_number,
    .batch = {.rule = batch_same_shape},
};
}  // namespace ops
}  // namespace systole
