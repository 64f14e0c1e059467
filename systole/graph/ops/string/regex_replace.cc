#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output regex_replace(const Input& input, const std::string& pattern, const std::string& rewrite,
                     const RegexReplaceOptions& options) {
  return Graph::current()
      .add_node(
          "StaticRegexReplace", {resolve("StaticRegexReplace", input)},
          {{"pattern", pattern}, {"rewrite", rewrite}, {"replace_global", options.replace_global}},
          input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_regex_replace{
    .name = "StaticRegexReplace",
    .doc = "What matches a regular expression, replaced.",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "pattern: string, rewrite: string, replace_global: bool = true",
    .infer = infer_string_map<DType::string>,
    .host = kernel_of_session,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
