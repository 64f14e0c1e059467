#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::string upper_case(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::vector<Tensor> run_string_upper(HostContext& c) {
  return {map_strings<std::string>(c.inputs[0], upper_case)};
}

}  // namespace

Output string_upper(const Input& input, const NameOptions& options) {
  return Graph::current()
      .add_node("StringUpper", {resolve("StringUpper", input)}, {}, input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_upper{
    .name = "StringUpper",
    .doc = "ASCII letters in upper case.",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "encoding: string == ''",
    .infer = infer_string_map<DType::string>,
    .host = run_string_upper,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
