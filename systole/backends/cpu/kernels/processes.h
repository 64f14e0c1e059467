// Steps of a program that spans processes: hlo/passes/vectorize_replicas.h writes the calls.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/process_group.h"

namespace systole::cpu {

// Returns whether the instruction is a custom call of hlo::kSumReplicas or hlo::kGatherReplicas.
bool is_process_call(const hlo::Instruction& x);

// Buffers: operand, result. Errors: FAILED_PRECONDITION without a group. REQUIRES:
// is_process_call(x).
std::unique_ptr<Kernel> make_process_kernel(const hlo::Instruction& x,
                                            runtime::ProcessGroup* processes);

}  // namespace systole::cpu
