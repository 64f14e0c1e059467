#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// What a TPU's matrix unit does by default: the f32 operands of dots and convolutions are rounded
// to bf16, their products added up in f32.
class Bf16Products : public hlo::Pass {
 public:
  std::string_view name() const override { return "bf16_products"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
