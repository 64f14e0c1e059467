// Row fusion: merges consecutive loop nests over the same rows into one that runs all of them for a
// few rows at a time. Softmax, normalisation and their gradients, which traverse each row several
// times, then traverse memory once. The products of an attention and of its gradient join them: the
// rows of the scores stay in a cache between softmax(q . k) and its product with v.
#pragma once

#include <functional>

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Runs after FusionPass, whose fusions are the thunks. A group starts at a thunk that reduces rows,
// generates random bits or computes pooling's gradient. It grows to users that work by the same
// rows (analysis/row_access.h) and to the producers of these, and becomes a fusion whose region
// holds the thunks. Thunks without native code stay apart. Skips arrays that fit a cache, rows that
// do not, and rows too short to be worth the loops. Idempotent.
class RowFusionPass : public hlo::Pass {
 public:
  using Predicate = std::function<bool(const hlo::Instruction&)>;
  explicit RowFusionPass(Predicate has_native_code)
      : has_native_code_(std::move(has_native_code)) {}
  std::string_view name() const override { return "row_fusion"; }
  bool run(hlo::Module& module) override;

 private:
  Predicate has_native_code_;
};

}  // namespace systole::cpu
