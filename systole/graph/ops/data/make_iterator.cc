#include "systole/graph/core/host_op.h"

namespace systole {
namespace ops {
extern const OpDef op_make_iterator{
    .name = "MakeIterator",
    .doc = "Starts an iterator anew.",
    .inputs = "parameters: T",
    .attrs = "T: list(type)",
    .graph_def = {.impossible = "its data set is part of the program",
                  .tensorflow = TensorFlowOp::none},
    .infer = [](const InferContext&) { return std::vector<TensorType>(); },
    .host = kernel_of_session,
    .traits = {.stateful = true},
};
}  // namespace ops
}  // namespace systole
