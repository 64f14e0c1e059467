// Replaces every `call` and `composite` of the main function, and of functions that nothing calls
// or that an instruction such as custom_call names, by the body of the called function. Leaves
// calls of unknown functions alone, and programs with recursions, which the verifier rejects. Keeps
// the functions; dce removes unused ones.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class InlineCalls : public Pass {
 public:
  std::string_view name() const override { return "inline_calls"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
