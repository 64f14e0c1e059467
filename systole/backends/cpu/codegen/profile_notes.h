// What a program tells a recording (tracing/recording.h): its ops and its memory plan.
#pragma once

#include <vector>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/hlo/ir/module.h"

namespace systole::tracing {
struct Allocation;
struct Op;
}  // namespace systole::tracing

namespace systole::cpu {

// Returns whether the instruction is the while loop over training steps that StepLoop builds.
// Profiles show each of its iterations as a step.
bool is_step_loop(const hlo::Instruction& instruction);

// Returns "dot_general f32[32,10]"; for a fusion also what it computes: "fusion(exponential,
// reduce) f32[32]".
std::string thunk_expression(const hlo::Instruction& instruction);

// Describes the op of this number in the program.
tracing::Op op_of(const hlo::Instruction& instruction, size_t number, bool interpreted);

// Returns the arrays of the program and their lifetimes, in program order. Values that share all of
// an array's memory with an earlier one, such as reshapes, are left out.
std::vector<tracing::Allocation> allocations_of(const hlo::Module& module,
                                                const BufferAssignment& buffers);

}  // namespace systole::cpu
