// Lowering functions into regions of HLO control flow.
#pragma once

#include <memory>
#include <vector>

#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/specialize.h"

namespace systole {

// A region under construction, cloned into its instruction when complete: how many values it
// returns depends on the checks that turn up in it.
class RegionDraft {
 public:
  RegionDraft(LowerContext& c, std::string name)
      : computation_(std::move(name), &c.b.computation().module(), nullptr), b_(computation_) {
    b_.set_metadata(c.b.metadata());
  }

  hlo::Computation& computation() { return computation_; }
  hlo::Builder& b() { return b_; }
  void clone_into(hlo::Computation& region) const;

 private:
  hlo::Computation computation_;
  hlo::Builder b_;
};

// The values that a function leaves in a region.
struct LoweredFunction {
  std::vector<hlo::Value> results;
  std::vector<hlo::Value> variables;  // those given, after it
  std::vector<Lowering::RegionCheck> checks;
};

// Lowers `function` into the draft, in which the variables `assigned` start as `before` (as they
// are outside, when empty); outside they stay as they are.
LoweredFunction lower_into(LowerContext& c, RegionDraft& draft, const Graph& function,
                           std::span<const hlo::Value> arguments,
                           std::span<const Node* const> assigned,
                           std::span<const hlo::Value> before = {}, hlo::Value iteration = {});

}  // namespace systole
