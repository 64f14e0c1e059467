// Programs whose arrays are split over devices, as programs of one replica for each device.
#pragma once

#include <memory>
#include <vector>

#include "systole/hlo/passes/partition/partition.h"
#include "systole/runtime/client.h"

namespace systole::runtime {

// The program of a device. Its main has the types of a device's parts; devices are replicas, so
// that partition p of replica r is replica r * num_partitions + p.
struct PartitionedProgram {
  std::unique_ptr<hlo::Module> module;
  // For all devices as replicas, of one partition. A parameter that every device has whole is given
  // once.
  CompileOptions options;
  // How the whole parameters and results are split, as given or chosen.
  std::vector<hlo::Sharding> parameters;
  std::vector<hlo::Sharding> results;
  std::vector<hlo::InspectedSharding> inspected;
};

// Splits the arrays of `module` into options.num_partitions parts, as its shardings say. Errors:
// those of hlo::partition().
PartitionedProgram partition_program(const hlo::Module& module, const CompileOptions& options,
                                     const hlo::PartitionOptions& propagation = {});

}  // namespace systole::runtime
