#include "systole/graph/api/io_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output read_file(const Input& filename, const NameOptions& options) {
  return Graph::current()
      .add_node("ReadFile", {resolve("ReadFile", filename)}, {}, filename.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_read_file{
    .name = "ReadFile",
    .doc = "The bytes of a file.",
    .inputs = "filename: string",
    .outputs = "contents: string",
    .infer =
        [](const InferContext& c) {
          check_text("filename", c.input(0));
          return std::vector{TensorType{DType::string, {}}};
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
