#include "systole/graph/api/tpu_ops.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/tpu/tpu_target.h"

namespace systole {

namespace tpu {

Operation shutdown_system(Input::Where where) {
  return Graph::current().add_node("ShutdownDistributedTPU", {}, {}, where);
}

}  // namespace tpu

namespace ops {
extern const OpDef op_shutdown_distributed_tpu{
    .name = "ShutdownDistributedTPU",
    .doc = "Stops the TPU system.",
    .infer = [](const InferContext&) { return std::vector<TensorType>{}; },
    .host =
        [](HostContext& c) {
          check_tpu_target(c);
          return std::vector<Tensor>{};
        },
    .traits = {.stateful = true},
};
}  // namespace ops
}  // namespace systole
