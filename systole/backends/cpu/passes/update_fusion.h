// Writes rows of stacks where they are computed: the loops of recurrent programs stack values of
// each step.
//   row, .. = fusion(..); stack' = dynamic_update_slice(stack, row, i)
//   -> stack', .. = fusion(.., stack, i)
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Joins an update of a contiguous part of an array to the fusion that computes the part element by
// element, where nothing reads the array between them. Elsewhere the array would be copied. Runs
// after the passes that make fusions.
class UpdateFusion : public hlo::Pass {
 public:
  std::string_view name() const override { return "update_fusion"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
