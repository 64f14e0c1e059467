// The memory of a TPU's core that a program needs, for all who judge it: `check`, predictions and
// the virtual TPU.
#pragma once

#include <cstdint>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/tpu_model/step_memory.h"
#include "systole/runtime/tpu_generation.h"

namespace systole::runtime {

// Bytes of a core.
struct CoreMemory {
  int64_t limit = 0;    // that programs get; 0: no limit
  int64_t on_chip = 0;  // beside it, where small arrays are kept between kernels
};

CoreMemory core_memory(const TpuGeneration& generation);

// `program`: of hlo::tpu_program, for one replica. Arrays have the bytes of their tiles. What does
// not fit is computed again where that helps. `state`: bytes that are in the core throughout; 0:
// those of the parameters. Pointers into `program`.
hlo::StepMemory tpu_memory(const hlo::Module& program, const CoreMemory& core, double state = 0);

// Errors: RESOURCE_EXHAUSTED as check_memory() (memory.h) if a core that has `limit` bytes cannot
// hold the program of one replica.
void check_core_memory(const hlo::Module& module, int64_t limit);

}  // namespace systole::runtime
