// Moves transposes of large operands and results of products to the smaller ones. In an attention
// of grouped heads, the scores are [batch, group, query, head, key] as a product and [batch, group,
// head, query, key] as a softmax:
//   transpose(q . k)    -> transpose(q) . k
//   transpose(s) . k    -> transpose(s . k)
//   transpose(s) . q    -> s . transpose(q), where both axes that are summed over change places
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Rewrites a product with batch axes, and only where the array that is transposed then has fewer
// elements. Products keep the order of their sums, but for sums over several axes.
class MoveTransposes : public hlo::Pass {
 public:
  std::string_view name() const override { return "move_transposes"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
