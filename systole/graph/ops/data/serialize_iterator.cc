#include "systole/graph/host_op.h"

namespace systole {
namespace ops {
extern const OpDef op_serialize_iterator;
const OpDef op_serialize_iterator{
    .name = "SerializeIterator",
    .doc = "The position of an iterator in its session, as bytes.",
    .infer =
        [](const InferContext&) {
          return std::vector<TensorType>{{DType::string, {}}};
        },
    .host = kernel_of_session,
    .blocks_gradient = true,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
