// Keeps products of a loop for a later loop that would compute them again.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// A loop back through time, as gradients of recurrent programs have, computes values of the forward
// loop again from the states that the forward loop has stacked. Where such a value contains a
// product (dot_general or convolution) of the forward loop, the forward loop stacks the value too
// and the later loop reads it. Stacked is what the product becomes as long as elementwise ops with
// one user keep its size. Leaves values that cannot be shown equal, loops whose number of
// iterations is not known, and stacks of more than 256 MiB.
class ReuseForwardResiduals : public Pass {
 public:
  std::string_view name() const override { return "reuse_forward_residuals"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
