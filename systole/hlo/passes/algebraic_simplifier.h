// Local rewrites: the rules of algebraic_simplifier/, wherever they match, until none does.
//
// Every rule keeps values to the bit (the payloads of NaNs apart), signed zeros, infinities and
// wrapping integers included; the exceptions, power(x, 2) and products of converted bf16, say why
// in their files. So x * 0 and x + 0.0 stay for floats, and no sum of floats is regrouped. Rules
// look a step or two deep; they fold no arithmetic on constants (constant_folding does) and merge
// no equal instructions (cse does). What a rewrite leaves unused is erased.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class AlgebraicSimplifier : public Pass {
 public:
  std::string_view name() const override { return "algebraic_simplifier"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
