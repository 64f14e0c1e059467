#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Rewrites a dot_general that contracts over one element as a product of broadcast operands, which
// can be fused. Skips dots whose result type differs from that of the operands.
class DotStrengthReduction : public hlo::Pass {
 public:
  std::string_view name() const override { return "dot_strength_reduction"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
