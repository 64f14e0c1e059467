// Merges values that a loop carries twice.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// Where a `while` carries two values that begin equal and that the body sets equal, such as the
// output and the state of a recurrent cell, all users take the first of them. Leaves the other for
// dead code elimination. Values whose equality needs more than identical operands stay: run common
// subexpression elimination before.
class DedupeLoopState : public Pass {
 public:
  std::string_view name() const override { return "dedupe_loop_state"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
