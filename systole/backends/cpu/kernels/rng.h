// rng_bit_generator's kernel: bit for bit what XLA's expansion of the op gives.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/module.h"

namespace systole::cpu {

// Buffers: initial state, final state, bits. The states may be one.
std::unique_ptr<Kernel> make_rng_kernel(const hlo::Instruction& rng);

}  // namespace systole::cpu
