// tf.Print in a model_fn.
#pragma once

#include <memory>
#include <vector>

#include "systole/train/loop/hooks.h"

namespace systole::train {

// Writes what the Print ops of a model print (graph/debugging_ops.h) after each loop: the values of
// its last step on replica 0.
class PrintHook final : public SessionRunHook {
 public:
  explicit PrintHook(std::vector<const Node*> prints);
  std::vector<Output> fetches() override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  std::vector<const Node*> prints_;
  std::vector<int64_t> printed_;  // by node: how often
};

// The hook for the Print ops of a graph that these nodes need; null where they need none.
std::shared_ptr<PrintHook> print_hook_for(const Graph& graph, std::vector<const Node*> roots);

}  // namespace systole::train
