// Rewrites a program for a grid of replicas and partitions into one for replicas alone.
#pragma once

#include "systole/hlo/ir/module.h"
#include "systole/hlo/semantics/process.h"

namespace systole::hlo {

// Makes each process of the grid a replica, in the order of the processes' numbers: ids and groups
// of collective ops become those of replicas. A program of one partition is left as it is.
// REQUIRES: a program of one device (see passes/partition).
//
// Errors: INVALID_ARGUMENT for groups and pairs beyond the grid.
void partitions_as_replicas(Module& module, const ProcessGrid& grid);

}  // namespace systole::hlo
