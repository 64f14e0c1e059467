// Row fusion: merges consecutive loop nests over the same rows into one that runs all of them for a
// few rows at a time. Softmax, normalisation and their gradients, which traverse each row several
// times, then traverse memory once.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Runs after FusionPass, whose fusions are the steps. A group starts at a step that reduces rows,
// generates random bits or computes pooling's gradient. It grows to users that work by the same
// rows (analysis/row_access.h) and to the producers of these, and becomes a fusion whose region
// holds the steps. Steps without native code stay apart. Skips arrays that fit a cache, rows that
// do not, and rows too short to be worth the loops. Idempotent.
class RowFusionPass : public hlo::Pass {
 public:
  std::string_view name() const override { return "row_fusion"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
