#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::string stripped(const std::string& text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::vector<Tensor> run_string_strip(HostContext& c) {
  return {map_strings<std::string>(c.inputs[0], stripped)};
}

}  // namespace

Output string_strip(const Input& input, const NameOptions& options) {
  return Graph::current()
      .add_node("StringStrip", {resolve("StringStrip", input)}, {}, input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_strip{
    .name = "StringStrip",
    .doc = "Each string without white space at its ends.",
    .inputs = "input: string",
    .outputs = "output: string",
    .infer = infer_string_map<DType::string>,
    .host = run_string_strip,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
