// Hoists loop-invariant values out of `while` bodies:
//   - a carried value that the body passes on unchanged is replaced by its initial value, inside
//   and after the loop (dce then stops carrying it);
//   - pure instructions on operands from outside are computed once, before the loop.
//
// Leaves inside what is free to recompute: constants, iota, reshapes, and values larger than their
// operands (broadcasts, masks), which a backend computes on the fly but would have to store; unless
// a hoisted instruction needs them. Leaves conditions alone. Hoisted instructions are also computed
// if the loop does not run at all.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class LoopInvariantCodeMotion : public Pass {
 public:
  std::string_view name() const override { return "loop_invariant_code_motion"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
