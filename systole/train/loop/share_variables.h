// Values of variables that rank 0 gives to all processes.
#pragma once

#include <span>

#include "systole/graph/core/variable.h"
#include "systole/runtime/process_group.h"
#include "systole/session/session.h"

namespace systole::train {

// Sets the variables of every process to the values that they have on rank 0; those without a value
// there keep theirs. All processes call it. Errors: INVALID_ARGUMENT on all processes for variables
// that differ between them in name or type; those of runtime::ProcessGroup.
void share_variables(Session& session, std::span<const Variable> variables,
                     runtime::ProcessGroup& processes);

}  // namespace systole::train
