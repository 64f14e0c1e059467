// Large matrix products by oneDNN.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// The axes of a dot_general's operands, by role.
struct DotAxes {
  explicit DotAxes(const hlo::Instruction& dot);
  Dims lhs_batch, lhs_free, lhs_contracting;
  Dims rhs_batch, rhs_free, rhs_contracting;
};

// Returns the step through memory along several axes taken as one, in elements; nullopt when there
// is no single one.
std::optional<int64_t> merged_stride(const Shape& shape, const Dims& axes);

// Returns the offsets in elements of all positions along the axes, in row-major order.
std::vector<int64_t> offsets_along(const Shape& shape, const Dims& axes);

// Returns whether compiled loops are as fast as a library call.
bool dot_is_small(const hlo::Instruction& dot);

// Buffers: lhs, rhs, result. `rhs_stays` says that the right operand is the same in many runs: it
// is copied into the layout that oneDNN likes best, and the copy is kept (kept_copies.h). Returns
// null if oneDNN does not support the types, or if the axes cannot be merged into a batch of
// matrices without a copy. Errors: INTERNAL with oneDNN's message.
std::unique_ptr<Kernel> make_dot_kernel(const hlo::Instruction& dot, bool rhs_stays,
                                        int num_threads);

// Buffers: lhs, rhs, those of the epilogue, result. Returns null for products whose kernel is not
// one of this backend that applies an epilogue.
std::unique_ptr<Kernel> make_dot_with_epilogue(const hlo::Instruction& dot, bool rhs_stays,
                                               int num_threads, Epilogue epilogue);

}  // namespace systole::cpu
