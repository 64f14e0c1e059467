#include <fmt/core.h>

#include "systole/graph/api/tpu_ops.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/tpu/tpu_target.h"

namespace systole {
namespace {

// A board of 8 cores is a 2x2 square of two-core chips; boards line up along x.
std::vector<Tensor> topology(HostContext& c) {
  check_tpu_target(c);
  const HostEnvironment& system = c.environment;
  const int cores_per_host = system.num_cores / system.num_hosts;
  const int cores_per_chip = system.num_cores % 2 == 0 ? 2 : 1;
  const int y = cores_per_host % 4 == 0 ? 2 : 1;
  const int x = system.num_cores / (y * cores_per_chip);
  const std::string text = fmt::format(
      "mesh_shape: {}\nmesh_shape: {}\nmesh_shape: {}\nnum_tasks: {}\nnum_tpu_devices_per_task: "
      "{}\n",
      x, y, cores_per_chip, system.num_hosts, cores_per_host);
  return {Tensor(text.c_str())};
}

}  // namespace

namespace tpu {

Output initialize_system(Input::Where where) {
  return {Graph::current().add_node("ConfigureDistributedTPU", {}, {}, where), 0};
}

}  // namespace tpu

namespace ops {
extern const OpDef op_configure_distributed_tpu{
    .name = "ConfigureDistributedTPU",
    .doc = "Starts the TPU system and returns its topology.",
    .outputs = "topology: string",
    .infer =
        [](const InferContext&) {
          return std::vector<TensorType>{{DType::string, {}}};
        },
    .host = topology,
    .traits = {.stateful = true},
};
}  // namespace ops
}  // namespace systole
