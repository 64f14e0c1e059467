#include "systole/graph/core/host_op.h"

namespace systole {
namespace ops {
extern const OpDef op_serialize_iterator{
    .name = "SerializeIterator",
    .doc = "The position of an iterator in its session, as bytes.",
    .outputs = "serialized: string",
    .graph_def = {.impossible = "its data set is part of the program",
                  .tensorflow = TensorFlowOp::other},
    .infer =
        [](const InferContext&) {
          return std::vector<TensorType>{{DType::string, {}}};
        },
    .host = kernel_of_session,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
