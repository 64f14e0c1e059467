#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"
#include "systole/graph/ops/string/text_unit.h"

namespace systole {
namespace {

std::vector<TensorType> infer_string_length(const InferContext& c) {
  check_text_unit(c.attr<std::string>("unit"));
  return infer_string_map<DType::s32>(c);
}

std::vector<Tensor> run_string_length(HostContext& c) {
  const bool utf8 = c.node.attr<std::string>("unit") == "UTF8_CHAR";
  return {map_strings<int32_t>(c.inputs[0], [&](const std::string& text) {
    return static_cast<int32_t>(utf8 ? count_utf8(text) : text.size());
  })};
}

}  // namespace

Output string_length(const Input& input, const StringLengthOptions& options) {
  return Graph::current()
      .add_node("StringLength", {resolve("StringLength", input)}, {{"unit", options.unit}},
                input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_length{
    .name = "StringLength",
    .doc = "The number of bytes or characters of each string.",
    .inputs = "input: string",
    .outputs = "output: int32",
    .attrs = "unit: string = 'BYTE'",
    .infer = infer_string_length,
    .host = run_string_length,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
