#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output regex_full_match(const Input& input, const std::string& pattern,
                        const NameOptions& options) {
  return Graph::current()
      .add_node("StaticRegexFullMatch", {resolve("StaticRegexFullMatch", input)},
                {{"pattern", pattern}}, input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_regex_full_match{
    .name = "StaticRegexFullMatch",
    .doc = "Whether all of each string matches a regular expression.",
    .inputs = "input: string",
    .outputs = "output: bool",
    .attrs = "pattern: string",
    .infer = infer_string_map<DType::pred>,
    .host = kernel_of_session,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
