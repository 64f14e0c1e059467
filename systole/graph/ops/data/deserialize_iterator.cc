#include "systole/graph/core/host_op.h"

namespace systole {
namespace {

std::vector<TensorType> infer_deserialize_iterator(const InferContext& c) {
  if (c.input(0) != TensorType{DType::string, {}}) {
    throw invalid_argument("state, got {}, expected {}", c.input(0), TensorType{DType::string, {}});
  }
  return {};
}

}  // namespace

namespace ops {
extern const OpDef op_deserialize_iterator{
    .name = "DeserializeIterator",
    .doc = "Takes an iterator of the session to the position that SerializeIterator gave.",
    .inputs = "serialized: string",
    .graph_def = {.impossible = "its data set is part of the program",
                  .tensorflow = TensorFlowOp::other},
    .infer = infer_deserialize_iterator,
    .host = kernel_of_session,
    .traits = {.stateful = true},
};
}  // namespace ops
}  // namespace systole
