#include "systole/graph/host_op.h"

namespace systole::ops {

extern const OpDef op_initialize_table;
const OpDef op_initialize_table{
    .name = "InitializeTable",
    .doc = "Reads a table.",
    .infer = [](const InferContext&) { return std::vector<TensorType>(); },
    .host = kernel_of_session,
    .stateful = true,
};

}  // namespace systole::ops
