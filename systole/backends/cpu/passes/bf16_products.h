#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Rounds f32 operands of dots and convolutions to bf16 and accumulates in f32, the default of a
// TPU's matrix unit.
class Bf16Products : public hlo::Pass {
 public:
  std::string_view name() const override { return "bf16_products"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
