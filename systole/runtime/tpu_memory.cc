#include "systole/runtime/tpu_memory.h"

#include <algorithm>
#include <cmath>

#include "systole/runtime/memory.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::runtime {

CoreMemory core_memory(const TpuGeneration& generation) {
  // Up to v3 it holds what a kernel works on.
  constexpr int64_t kOfOneKernel = int64_t{16} << 20;
  const int64_t beside = generation.vector_memory_bytes;
  // Kernels need the other half.
  return {.limit = generation.memory_bytes, .on_chip = beside > kOfOneKernel ? beside / 2 : 0};
}

hlo::StepMemory tpu_memory(const hlo::Module& program, const CoreMemory& core, double state) {
  return hlo::step_memory(program, tile_bytes,
                          {.limit = static_cast<double>(core.limit),
                           .state = state,
                           .on_chip = static_cast<double>(core.on_chip)});
}

void check_core_memory(const hlo::Module& module, int64_t limit) {
  const auto program = hlo::tpu_program(module);
  const hlo::StepMemory memory = tpu_memory(*program, {.limit = limit});
  ExecutableStats stats;
  // As far as an int64_t holds them.
  constexpr double kMaxBytes = 4e18;
  stats.argument_bytes = std::llround(std::min(memory.parameters, kMaxBytes));
  stats.temp_bytes = std::llround(std::min(memory.temporaries, kMaxBytes));
  check_memory("core", *program, stats, limit);
}

}  // namespace systole::runtime
