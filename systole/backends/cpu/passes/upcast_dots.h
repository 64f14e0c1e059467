#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Computes large dots and convolutions of 16-bit floats in f32 and rounds the result, on hosts
// without instructions for them. Products of such floats are exact in f32, and sums accumulate in
// f32 either way.
class UpcastDots : public hlo::Pass {
 public:
  std::string_view name() const override { return "upcast_dots"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
