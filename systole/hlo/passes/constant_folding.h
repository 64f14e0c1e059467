// Replaces instructions whose operands are all constants by their value, computed by the reference
// evaluator; loops too, when everything they carry is known and they end within a few steps.
//
// Leaves alone what would make the program larger or its compilation slow: broadcasts (a splat
// stays a splat: consumers know it better than a table of equal numbers), iota, results or costs
// beyond the bounds of partial_evaluation, elementwise work on splats only (the simplifier does it
// on their one element); and what is pinned, has an effect, or throws. A reshape of a constant is
// folded at any size: it shares the elements. Transcendental functions get the reference's value,
// which is within a unit in the last place of a backend's.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class ConstantFolding : public Pass {
 public:
  std::string_view name() const override { return "constant_folding"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
