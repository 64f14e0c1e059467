#pragma once

#include "systole/hlo/pass.h"

namespace systole::cpu {

// The index of the largest (smallest) element along the last axis, written as a reduction of pairs
// whose values nobody wants, becomes the least index at which an element is the largest: two
// reductions that are vectorised, over rows that stay in a cache between them.
class ExtremumIndex : public hlo::Pass {
 public:
  std::string_view name() const override { return "extremum_index"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
