// For backends that compute all replicas as one program: arguments and results replica by replica.
#pragma once

#include <memory>

#include "systole/runtime/client.h"

namespace systole::runtime {

// An executable for callers without CompileOptions::stacked, of `stacked`, which was compiled from
// `module` with it. Arguments that lie behind each other in memory are used in place; others are
// gathered first. Devices' memory is the host's (HostBuffer).
std::unique_ptr<Executable> replica_by_replica(std::unique_ptr<Executable> stacked,
                                               const hlo::Module& module, int num_replicas);

}  // namespace systole::runtime
