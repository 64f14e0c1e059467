// Thunks of a program that spans processes: hlo/passes/replicas/vectorize_replicas.h and
// passes/all_reduces.h write the calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/process_group.h"

namespace systole::cpu {

// Targets of the two custom calls that a sum over replicas becomes. The first takes stacked values
// of one type of elements and starts their sums: it returns ProcessGroup::sum_rows() rows of
// sum_places().count elements. The second takes these, waits, and returns the sums: an array of one
// axis.
inline constexpr const char* kAllReduceStart = "systole.all_reduce_start";
inline constexpr const char* kAllReduceDone = "systole.all_reduce_done";

// Where the sums of stacked values lie in one array: at multiples of 64 bytes.
struct SumPlaces {
  std::vector<int64_t> at;  // the first element of each
  int64_t count = 0;        // of all, with the gaps
};
SumPlaces sum_places(std::span<const hlo::Value> stacked);

// Returns the target of a custom call of a program that spans processes: one of the above, or
// hlo::kSumReplicas or hlo::kGatherReplicas. Null for another instruction.
const std::string* process_call(const hlo::Instruction& x);

// Returns whether it is a call of kAllReduceDone whose result may be its operand.
bool finishes_in_place(const hlo::Instruction& x);

// Makes the kernel of a process call. Its buffers are the operands, then the result. `processes`
// outlives it. Errors: FAILED_PRECONDITION if `processes` is null. REQUIRES: process_call(x) is a
// target other than hlo::kSumReplicas, which AllReduceCombiner replaces.
std::unique_ptr<Kernel> make_process_kernel(const hlo::Instruction& x,
                                            runtime::ProcessGroup* processes);

}  // namespace systole::cpu
