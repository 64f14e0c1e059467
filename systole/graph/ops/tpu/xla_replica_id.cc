#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace tpu {

Output replica_id(Input::Where where) {
  return Graph::current().add_node("XlaReplicaId", {}, {}, where)->output();
}

}  // namespace tpu

namespace ops {
extern const OpDef op_xla_replica_id{
    .name = "XlaReplicaId",
    .doc = "The number of the replica that runs it.",
    .outputs = "id: int32",
    .infer =
        [](const InferContext&) {
          return std::vector<TensorType>{{DType::s32, {}}};
        },
    .lower =
        [](LowerContext& c) {
          const hlo::Value id = c.b.op(hlo::Opcode::replica_id, {})->result();
          return std::vector{c.b.convert(id, DType::s32)};
        },
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
