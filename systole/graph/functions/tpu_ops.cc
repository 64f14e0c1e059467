#include "systole/graph/api/tpu_ops.h"

#include <charconv>

#include "systole/graph/ops/tpu/tpu_target.h"

namespace systole {

void check_tpu_target(const HostContext& context) {
  if (context.environment.is_tpu) return;
  throw failed_precondition(
      "{}: session target, got '{}', expected a TPU such as TPUClusterResolver({{.tpu = "
      "\"local\"}}).get_master()",
      context.node.op_name(), context.environment.target);
}

namespace tpu {

Topology Topology::parse(const Tensor& value) {
  Topology topology;
  const auto broken = [&] {
    return invalid_argument(
        "Topology::parse: value, got {}, expected what initialize_system() returned",
        value.to_string());
  };
  if (value.dtype() != DType::string || value.num_elements() != 1) throw broken();
  std::string_view rest = value.data<std::string>()[0];
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto colon = line.find(": ");
    int number = 0;
    if (colon == std::string_view::npos ||
        std::from_chars(line.data() + colon + 2, line.data() + line.size(), number).ec !=
            std::errc()) {
      throw broken();
    }
    const std::string_view key = line.substr(0, colon);
    if (key == "mesh_shape") topology.mesh_shape.push_back(number);
    if (key == "num_tasks") topology.num_hosts = number;
    if (key == "num_tpu_devices_per_task") topology.cores_per_host = number;
  }
  if (topology.num_cores() == 0) throw broken();
  return topology;
}

}  // namespace tpu
}  // namespace systole
