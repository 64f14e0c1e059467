#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Large dots and convolutions of 16-bit floats that this host has no instructions for become
// products of f32, whose result is rounded: the products of two such numbers are exact in f32, and
// sums of them are accumulated in f32 either way.
class UpcastDots : public hlo::Pass {
 public:
  std::string_view name() const override { return "upcast_dots"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
