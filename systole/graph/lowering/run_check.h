// Checks that lowerings make of values: what must fail a run.
#pragma once

#include <string>

#include "systole/graph/core/op_def.h"

namespace systole {

// Fails the run with INVALID_ARGUMENT `message` when an element of `failed` (pred, any shape) is
// true. Adds nothing where that is known not to be.
void fail_where(LowerContext& c, hlo::Value failed, std::string message);

}  // namespace systole
