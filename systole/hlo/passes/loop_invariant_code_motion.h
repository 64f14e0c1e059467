// Moves out of `while` bodies what has the same value in every iteration:
//   - a carried value that the body hands on unchanged is replaced, inside and behind the loop, by
//     its initial value (dce then stops carrying it);
//   - pure instructions whose operands come from outside are computed once, before the loop.
//
// What costs nothing to compute again stays inside: constants, iota, reshapes, and whatever is
// larger than what it is made of (broadcasts, masks), which a backend computes on the fly but would
// have to store as a whole; unless something that moves needs it. Conditions of loops are left
// alone. A loop that never runs then computes what it would not have.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class LoopInvariantCodeMotion : public Pass {
 public:
  std::string_view name() const override { return "loop_invariant_code_motion"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
