// Removes computations that no result needs:
//   - instructions without users or effects, in regions too;
//   - values carried by a `while` that affect neither a used result nor the condition, directly or
//     through other carried values;
//   - unused results of `if` and `case`;
//   - functions that main does not call, directly or indirectly.
// Keeps pinned instructions and those with effects, the parameters of functions (their interface),
// and unused results of other instructions. Keeps all functions of a module without main.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class DeadCodeElimination : public Pass {
 public:
  std::string_view name() const override { return "dce"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
