// Replaces instructions on constants by their value, which the reference evaluator computes; also
// loops whose carried values are all known and that end within a few steps.
//
// Leaves alone what would enlarge the program or slow compilation down: broadcasts (consumers can
// use a splat better than a table of equal numbers), iota, results or costs above the limits of
// partial_evaluation, and elementwise work on splats (the simplifier does it on their one element).
// Also leaves pinned instructions and those that have effects or throw. Folds a reshape of a
// constant at any size, since it shares the elements. Transcendental functions get the reference
// value, which is within one unit in the last place of a backend's.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

class ConstantFolding : public Pass {
 public:
  std::string_view name() const override { return "constant_folding"; }
  bool run(Module& module) override;
};

}  // namespace systole::hlo
