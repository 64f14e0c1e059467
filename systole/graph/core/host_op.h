// What ops that run on the host have in common.
#pragma once

#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// OpDef::host of an op whose kernel needs files, images or records: the session layer has it, by
// the op's name (session/host_kernel.h), and uses it in place of this. Errors: INTERNAL.
std::vector<Tensor> kernel_of_session(HostContext& context);

}  // namespace systole
