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

// Computes large dots and convolutions of 16-bit floats in f32 and rounds the result, on hosts
// without instructions for them. Products of such floats are exact in f32, and sums accumulate in
// f32 either way.
class ChangeOpDataType : public hlo::Pass {
 public:
  std::string_view name() const override { return "change_op_data_type"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
