#include "systole/graph/api/io_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output matching_files(const Input& pattern, const NameOptions& options) {
  return Graph::current()
      .add_node("MatchingFiles", {resolve("MatchingFiles", pattern)}, {}, pattern.where(),
                options.name)
      ->output();
}

namespace ops {
extern const OpDef op_matching_files{
    .name = "MatchingFiles",
    .doc = "The names of the files that match a pattern.",
    .inputs = "pattern: string",
    .outputs = "filenames: string",
    .infer =
        [](const InferContext& c) {
          check_strings("pattern", c.input(0));
          if (c.input(0).shape.rank() > 1) {
            throw invalid_argument("pattern, got {}, expected a scalar or a vector", c.input(0));
          }
          return std::vector{TensorType{DType::string, {kUnknown}}};
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
