// Print ops in the step of a loop.
#pragma once

#include <memory>
#include <vector>

#include "systole/train/loop/hooks.h"

namespace systole::train {

// Logs the values of Print ops (graph/api/debugging_ops.h) after each loop: those of its last step
// on replica 0.
class PrintHook final : public SessionRunHook {
 public:
  explicit PrintHook(std::vector<const Node*> prints);
  std::vector<Output> fetches() override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  std::vector<const Node*> prints_;
  std::vector<int64_t> printed_;  // the number of times, for each node
};

// Returns a hook for the Print ops that these nodes need; null if they need none.
std::shared_ptr<PrintHook> print_hook_for(const Graph& graph, std::vector<const Node*> roots);

}  // namespace systole::train
