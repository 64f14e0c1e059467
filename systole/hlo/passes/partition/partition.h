// Rewrites a program with shardings into the program of one of the devices that share its work
// (SPMD).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/ir/sharding.h"
#include "systole/hlo/passes/partition/partition_options.h"

namespace systole::hlo {

// How a value is split of which a call of InspectSharding (ir/placement.h) asked. In a manual
// computation it is the part that is split.
struct InspectedSharding {
  std::string key;  // the call's backend_config, an attribute's text
  Sharding sharding;
};

// The program of a device: main has the types of the device's parts. The shardings are those of the
// whole parameters and results, given or chosen.
struct PartitionedModule {
  std::unique_ptr<Module> module;
  std::vector<Sharding> parameters;
  std::vector<Sharding> results;
  std::vector<InspectedSharding> inspected;
};

// Reads the attributes `sdy.sharding` and `mhlo.sharding` of main's parameters and results, the
// custom calls `Sharding`, and manual computations (GlobalToLocalShape, call, LocalToGlobalShape).
// Chooses the shardings of all other values by propagation, and writes the program of each of
// `num_partitions` devices, which differ by partition_id. Calls are inlined. The attribute
// `sdy.sharding` of each parameter and result of the new main tells what was chosen, on the
// module's meshes or in place.
//
// An axis of an array that its mesh axes do not divide is not split, except at parameters and
// results of main, where it is an error.
//
// Errors: INVALID_ARGUMENT for shardings that are malformed, have another number of devices, or do
// not divide a parameter or result. UNIMPLEMENTED for meshes that order the devices in unlike ways,
// for collective ops outside of manual computations, and for infeed, outfeed, send and recv. Those
// of options.custom_partitioner; INVALID_ARGUMENT if its programs have other types than the parts.
PartitionedModule partition(const Module& module, int num_partitions,
                            const PartitionOptions& options = {});

}  // namespace systole::hlo
