// Puts the body of the called function in the place of every `call` and `composite`, innermost
// ones first. Leaves
// calls of unknown functions and recursions (which the verifier refuses) alone. The functions stay;
// dce removes those that nothing calls any more.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class InlineCalls : public Pass {
 public:
  std::string_view name() const override { return "inline_calls"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
