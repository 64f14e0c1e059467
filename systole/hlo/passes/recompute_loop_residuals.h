// Keeps loops from stacking values that are cheap to compute from others that they stack.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// A forward loop stacks values for the loop back through time that follows it. If only the later
// loop reads a stack, and a row of it is a few sums and products of rows of other stacks that the
// loop reads in the same iteration (s * (1 - s) beside s), the loop computes the row instead, and
// the stack is unused. Results stay the same bit by bit.
class RecomputeLoopResiduals : public Pass {
 public:
  std::string_view name() const override { return "recompute_loop_residuals"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
