// Custom calls whose owners tell how they are computed on parts.
#pragma once

#include <vector>

#include "systole/hlo/passes/partition/partitioner.h"

namespace systole::hlo::spmd {

// Writes the program of PartitionOptions::custom_partitioner in place of the call, between moves of
// its operands and results. Errors: those of the partitioner; INVALID_ARGUMENT if the program does
// not fit the call; UNIMPLEMENTED without a partitioner, and for meshes that order the devices in
// another way than those of the program.
std::vector<Value> write_custom_partition(Partitioner& p, Instruction& x);

}  // namespace systole::hlo::spmd
