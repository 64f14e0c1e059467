// The work of a step, from its program.
#pragma once

#include <span>

#include "systole/hlo/ir/module.h"
#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// Returns the work of one core of a TPU: that of the kernels which its compiler makes
// (hlo/tpu_model). `program`: of hlo::tpu_program, for one replica. `recomputed`: of
// hlo::StepMemory, kernels that run once more for each time they are in it. Loops count as often as
// they run, where that is known, else once; of the branches of a condition the first does. Leaves
// infeed_bytes and resident_bytes 0.
StepCost cost_of(const hlo::Module& program,
                 std::span<const hlo::Instruction* const> recomputed = {});

// The work and the memory of a step on a core, of a program as it was lowered.
StepCost step_of(const hlo::Module& program, const runtime::TpuGeneration& generation);

// The work of one replica on a CPU: that of the operations that the cpu backend fuses.
StepCost cpu_cost_of(const hlo::Module& program);

}  // namespace systole::profile
