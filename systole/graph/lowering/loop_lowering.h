// Lowering of While.
#pragma once

#include <optional>
#include <vector>

#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/lower_region.h"

namespace systole {

// The outputs of a While of n loop variables: their last values, the number of iterations (s32[]),
// and for each variable its values at the start of all iterations, stacked: what gradients need.
struct WhileOutputs {
  int n;
  int value(int i) const { return i; }
  int iterations() const { return n; }
  int history(int i) const { return n + 1 + i; }
  int count() const { return 2 * n + 1; }
};

// True when the body returns argument i as it is.
bool is_invariant(const Graph& body, size_t i);

// Builds the HLO `while` of a While node. It carries: a counter, the variables that change, the
// Variables that the loop assigns, a flag for each check, and the histories that something uses.
class LoopLowering {
 public:
  explicit LoopLowering(LowerContext& c);
  std::vector<hlo::Value> run();

 private:
  struct State {
    hlo::Value initial;
    hlo::Value in_cond;
    hlo::Value in_body;
    hlo::Value next;  // what the body returns
  };

  State& carry(hlo::Value initial);
  std::vector<hlo::Value> arguments(hlo::Value State::*where) const;
  std::vector<hlo::Value> variables(hlo::Value State::*where) const;
  hlo::Value iteration(hlo::Value State::*where) const;
  void carry_variables();
  void lower_condition();
  void lower_body();
  void carry_checks();
  void carry_histories();
  void carry_history(int i, int64_t capacity);
  hlo::Instruction* build();
  std::vector<hlo::Value> results(hlo::Instruction& loop);

  LowerContext& c_;
  const Graph& cond_;
  const Graph& body_;
  const int64_t limit_;
  WhileOutputs outputs_;
  RegionDraft cond_draft_;
  RegionDraft body_draft_;
  std::vector<State> states_;
  std::vector<int> changing_;   // loop variables; they are states_[1...]
  std::vector<int> histories_;  // loop variables
  std::vector<const Node*> assigned_;
  LoweredFunction cond_result_;
  std::vector<Lowering::RegionCheck> body_checks_;
  std::optional<int64_t> trip_count_;
};

}  // namespace systole
