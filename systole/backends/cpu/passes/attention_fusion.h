// Makes one step of softmax(q . k) . v, and one of its gradients: their kernels keep the scores of
// a few queries in a cache, and skip the keys that a mask hides from them.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Runs before other fusions. Gradients that the kernel takes (analysis/attention_gradient.h) become
// a fusion, which computes the scores again; then an attention that the kernel takes
// (analysis/attention_fusion.h) and whose scores and weights nothing else reads, with the transpose
// behind it. Idempotent.
class AttentionFusion : public hlo::Pass {
 public:
  std::string_view name() const override { return "attention_fusion"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
