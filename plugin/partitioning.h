// What clients in the process are told and asked while a program is split over devices.
#pragma once

#include <span>

#include "systole/hlo/passes/partition/partition.h"

namespace systole::plugin {

// Tells the function of systole_inspect_shardings() how values are split of which a program asks.
// Thread-safe. Errors: INTERNAL with what the function answers.
void tell_inspected(std::span<const hlo::InspectedSharding> inspected, int num_devices);

// Returns a partitioner that asks the function of systole_partition_custom_calls(); null if there
// is none. Its errors: INTERNAL with what the function answers; those of reading a program and
// shardings.
hlo::CustomPartitioner custom_partitioner(int num_devices);

}  // namespace systole::plugin
