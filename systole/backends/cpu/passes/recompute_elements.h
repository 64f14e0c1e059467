// Computes elements again where they are used late. A gradient reads much of what the forward part
// has computed, such as a normalisation's x - mean(x) or the sign of what a ReLU takes, which would
// lie in memory from one to the other and be written and read for that alone:
//   d = x - mean; ... product ...; sum(g * d)    ->  ... sum(g * (x - mean)), if x stays anyway
//   p = s > 0; y = max(s, 0); ... select(p, g, 0) -> ... select(y > 0, g, 0), if y stays anyway
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Gives a use of a large array that has products between it and the array's definition a copy of
// the definition, a few cheap elementwise instructions, if the one large array that these read
// lives about as long for other reasons, or is at most half as large (16 bits instead of 32). Bits
// of results stay the same. Runs after the last CommonSubexpressionElimination, which would undo
// it, and before DeadCodeElimination and fusion.
class RecomputeElements : public hlo::Pass {
 public:
  std::string_view name() const override { return "recompute_elements"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
