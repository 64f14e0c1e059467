#include "systole/graph/api/io_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Operation write_file(const Input& filename, const Input& contents, const NameOptions& options) {
  return Graph::current().add_node("WriteFile",
                                   {resolve("WriteFile", filename), resolve("WriteFile", contents)},
                                   {}, filename.where(), options.name);
}

namespace ops {
extern const OpDef op_write_file{
    .name = "WriteFile",
    .doc = "Writes a file.",
    .inputs = "filename: string, contents: string",
    .infer =
        [](const InferContext& c) {
          check_text("filename", c.input(0));
          check_text("contents", c.input(1));
          return std::vector<TensorType>();
        },
    .host = kernel_of_session,
    .traits = {.stateful = true},
};
}  // namespace ops
}  // namespace systole
