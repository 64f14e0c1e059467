// Simplifies how loops read the rows of arrays.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// Two rewrites of `while` loops whose number of iterations is known:
// - A counter that an earlier loop has stacked, and of which this loop reads one entry in each
//   iteration, is computed from this loop's counter.
// - A carried array of which each iteration reads the row that it then sets, for the first time:
//   the row is read from the array before the loop.
// Leaves arrays that the body reads otherwise, and rows that several iterations set.
class ForwardLoopSlices : public Pass {
 public:
  std::string_view name() const override { return "forward_loop_slices"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
