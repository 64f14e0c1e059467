#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// A dot_general that contracts over one element is a multiplication of broadcast operands: written
// so, it can be part of a fusion. Leaves dots whose result has another element type than their
// operands.
class ThinDots : public hlo::Pass {
 public:
  std::string_view name() const override { return "thin_dots"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
