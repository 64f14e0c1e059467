// Common subexpression elimination: of two equal instructions the later one goes, and its users use
// the earlier one. Equal means same opcode, attributes, result types, operands (in either order
// where the opcode is commutative) and regions of equal structure over the same outer values; so
// equal constants become one, to the bit of their elements.
//
// An earlier instruction serves the regions of loops and branches behind it, never the other way
// round, nor one region another; reducers and fusions stay functions of their parameters. Leaves
// alone what is pinned or has an effect; rng_bit_generator is a function of its state and counts as
// any other.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class CommonSubexpressionElimination : public Pass {
 public:
  std::string_view name() const override { return "cse"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
