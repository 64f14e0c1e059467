#include "systole/runtime/partitioned_program.h"

#include "systole/hlo/passes/expand_quantized.h"
#include "systole/hlo/passes/replicas/partitions_as_replicas.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"

namespace systole::runtime {
namespace {

// A value that is the same on all devices by its sharding. (A sum that is not added up is not.)
bool is_whole(const hlo::Sharding& sharding) {
  return sharding.is_replicated() && sharding.unreduced.empty() && !sharding.mesh.is_maximal();
}

// Parameters that every device has whole. One that the program updates is given once only if the
// update is known to be the same on all devices.
std::vector<bool> given_once(const hlo::Module& module, const CompileOptions& options,
                             const std::vector<hlo::Sharding>& parameters, int num_devices) {
  std::vector<bool> once;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const bool promised = options.num_replicas == 1 || (!options.replicated_parameters.empty() &&
                                                        options.replicated_parameters[p]);
    once.push_back(promised && is_whole(parameters[p]));
  }
  for (bool changed = !module.aliases.empty(); changed;) {
    changed = false;
    const std::vector<bool> varying =
        hlo::varying_results(module, {.num_replicas = num_devices, .replicated_parameters = once});
    for (const auto& [parameter, result] : module.aliases) {
      if (!once[parameter] || !varying[result]) continue;
      once[parameter] = false;
      changed = true;
    }
  }
  return once;
}

}  // namespace

PartitionedProgram partition_program(const hlo::Module& module, const CompileOptions& options,
                                     const hlo::PartitionOptions& propagation) {
  if (hlo::has_quantized_types(module)) {
    return partition_program(*hlo::expand_quantized(module), options, propagation);
  }
  hlo::PartitionOptions split_options = propagation;
  split_options.num_replicas = options.num_replicas;
  hlo::PartitionedModule split = hlo::partition(module, options.num_partitions, split_options);
  const hlo::ProcessGrid grid{.num_replicas = options.num_replicas,
                              .num_partitions = options.num_partitions};
  hlo::partitions_as_replicas(*split.module, grid);
  PartitionedProgram program{.module = std::move(split.module),
                             .options = options,
                             .parameters = std::move(split.parameters),
                             .results = std::move(split.results),
                             .inspected = std::move(split.inspected)};
  program.options.num_replicas = static_cast<int>(grid.size());
  program.options.num_partitions = 1;
  program.options.replicated_parameters =
      given_once(*program.module, options, program.parameters, program.options.num_replicas);
  return program;
}

}  // namespace systole::runtime
