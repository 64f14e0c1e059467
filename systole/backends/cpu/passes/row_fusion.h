// Row fusion: loop nests that work on the same rows one behind the other become one, which takes
// some rows at a time through all of them. Softmax, normalisation and their gradients, which pass
// over each row several times, then pass over memory once.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Runs behind FusionPass, whose fusions are the steps. A group grows from a step that reduces rows,
// makes random bits or takes pooling's gradient, forwards to steps that use it row by row
// (analysis/row_access.h) and backwards to steps that these use, and ends in steps that reduce all
// rows to one; it becomes a fusion whose region holds the steps. Left alone: arrays that fit a
// cache anyway, rows that do not, rows so short that loops over them do not pay. Idempotent.
class RowFusionPass : public hlo::Pass {
 public:
  std::string_view name() const override { return "row_fusion"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
