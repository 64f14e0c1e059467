// Takes sums over iterations out of loops.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// A carried value to which each iteration adds a product (dot_general without batch dimensions) or
// a sum (reduce) becomes one product, or sum, over all iterations after the loop; the loop stacks
// the operands instead. Weight gradients of recurrent layers are such sums. The terms are added in
// another order. Leaves loops whose number of iterations is not known, values that the body reads
// otherwise, products that are large in each iteration, and stacks of more than 256 MiB.
class SinkLoopAccumulations : public Pass {
 public:
  std::string_view name() const override { return "sink_loop_accumulations"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
