// The work of a step, from its program.
#pragma once

#include "systole/hlo/ir/module.h"
#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// Returns the work of one core for a program of one replica, optimized and fused as for a device.
// Loops count as often as they run, where that is known, else once. Products and convolutions are
// taken to read their operands once. A convolution is taken as a product over kernel positions and
// input features. Leaves infeed_bytes and resident_bytes 0.
StepCost cost_of(const hlo::Module& program);

}  // namespace systole::profile
