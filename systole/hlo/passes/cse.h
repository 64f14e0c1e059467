// Common subexpression elimination: of two equal instructions the later one is replaced by the
// earlier one. Equal means the same opcode, attributes, result types and operands (in either order
// if commutative), and regions of equal structure over the same outer values. Constants are equal
// if their elements are equal bit for bit.
//
// An earlier instruction may replace one in a later region of a loop or branch. Values do not move
// out of regions or between them, nor into reducers and fusions. Leaves pinned instructions and
// those with effects alone. rng_bit_generator is a function of its state and is merged.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class CommonSubexpressionElimination : public Pass {
 public:
  std::string_view name() const override { return "cse"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
