#include "systole/graph/host_op.h"

namespace systole {
namespace ops {
extern const OpDef op_make_iterator;
const OpDef op_make_iterator{
    .name = "MakeIterator",
    .doc = "Starts an iterator anew.",
    .infer = [](const InferContext&) { return std::vector<TensorType>(); },
    .host = kernel_of_session,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
