// Local rewrites: applies the rules of algebraic_simplifier/ until none matches.
//
// Rules preserve values bit for bit (except NaN payloads), including signed zeros, infinities and
// wrapping integers. The exceptions, power(x, 2) and products of converted bf16, give their reasons
// in their files. So floats keep x * 0 and x + 0.0, and sums of floats are not regrouped. Rules
// look one or two steps deep. They do not fold constants (constant_folding does) or merge equal
// instructions (cse does). Unused instructions are erased.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class AlgebraicSimplifier : public Pass {
 public:
  std::string_view name() const override { return "algebraic_simplifier"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
