// Removes what computes nothing that is asked for:
//   - instructions without users or effects, in regions too;
//   - values that a `while` carries and nothing reads: neither its result, nor its condition, nor,
//     directly or through other carried values, the body's other results;
//   - results of `if` and `case` that nothing reads;
//   - functions that main does not reach.
// Keeps what is pinned or has an effect, the parameters of functions (they are their interface),
// and unused results of other instructions with several. Keeps all functions of a module without a
// main.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class DeadCodeElimination : public Pass {
 public:
  std::string_view name() const override { return "dce"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
