// Joins products and convolutions to the elementwise steps after them: biases, normalisations with
// known statistics, sums with a residual, limits. The kernel then applies these while its results
// are in a cache.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Runs before FusionPass. A product or convolution whose kernel takes steps
// (analysis/product_fusion.h) grows by its only user as long as that is such a step, and becomes a
// fusion. Idempotent.
class EpilogueFusion : public hlo::Pass {
 public:
  std::string_view name() const override { return "epilogue_fusion"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
