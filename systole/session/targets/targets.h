// The target schemes of this layer, one a file. Layers above register theirs.
#pragma once

#include "systole/session/targets/target.h"

namespace systole {

TargetScheme this_machine_scheme();  // ""
TargetScheme virtual_tpu_scheme();   // "local"
TargetScheme worker_scheme();        // "grpc"
TargetScheme pjrt_scheme();          // "pjrt"

}  // namespace systole
