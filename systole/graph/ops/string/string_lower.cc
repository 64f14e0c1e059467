#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::vector<Tensor> run_string_lower(HostContext& c) {
  return {map_strings<std::string>(c.inputs[0], lower_case)};
}

}  // namespace

Output string_lower(const Input& input, const NameOptions& options) {
  return Graph::current()
      .add_node("StringLower", {resolve("StringLower", input)}, {}, input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_lower{
    .name = "StringLower",
    .doc = "ASCII letters in lower case.",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "encoding: string == ''",
    .infer = infer_string_map<DType::string>,
    .host = run_string_lower,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
