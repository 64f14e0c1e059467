// Hooks around one pass over the input: evaluation and prediction. Training's see more; see
// train.cc.
#pragma once

#include <optional>

#include "systole/estimator/hooks.h"

namespace systole::estimator {

// Not thread-safe. The methods are called in the order in which they stand.
class HookPass {
 public:
  // Those of the call and those of the model; begins them while `graph` may still grow.
  HookPass(HookList hooks, const HookList& of_model, Graph& graph);

  // Variables have their values. The session outlives the pass.
  void start(Session& session, int64_t global_step);
  // Around a loop. False when a hook wants no more of them.
  bool before();
  bool after();
  void end();

 private:
  HookList hooks_;
  std::optional<RunContext> context_;
};

}  // namespace systole::estimator
