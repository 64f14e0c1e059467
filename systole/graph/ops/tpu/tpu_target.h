// What the TPU system ops share.
#pragma once

#include "systole/graph/core/op_def.h"

namespace systole {

// Errors: FAILED_PRECONDITION when the session's target is no TPU.
void check_tpu_target(const HostContext& context);

}  // namespace systole
