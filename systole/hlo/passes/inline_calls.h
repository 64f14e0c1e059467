// Replaces every `call` and `composite` by the body of the called function, innermost calls first.
// Leaves calls of unknown functions and recursions (which the verifier rejects) alone. Keeps the
// functions; dce removes unused ones.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class InlineCalls : public Pass {
 public:
  std::string_view name() const override { return "inline_calls"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
