// What a program tells a recording (tracing/recording.h): its ops and its memory plan.
#pragma once

#include <vector>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/codegen/program_record.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::tracing {
struct Allocation;
struct Op;
}  // namespace systole::tracing

namespace systole::cpu {

// Returns whether the instruction is the while loop over training steps that StepLoop builds.
// Profiles show each of its iterations as a step.
bool is_step_loop(const hlo::Instruction& instruction);

// Returns whether the step is an op of the profile: all are but the step loop.
inline bool is_op(const hlo::Instruction& step) { return !is_step_loop(step); }

// Returns "dot_general f32[32,10]"; for a fusion also what it computes: "fusion(exponential,
// reduce) f32[32]".
std::string thunk_expression(const hlo::Instruction& instruction);

// Describes the program's ops, by number.
std::vector<tracing::Op> ops_of(const ProgramRecord& record);

// Describes the steps of a profiled program, and their cost in one run of each.
std::vector<runtime::StepProfile> step_profiles_of(const ProgramRecord& record);

// Returns the arrays of the program and their lifetimes, in program order. Values that share all of
// an array's memory with an earlier one, such as reshapes, are left out.
std::vector<tracing::Allocation> allocations_of(const hlo::Module& module,
                                                const BufferAssignment& buffers);

}  // namespace systole::cpu
