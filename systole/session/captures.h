// What a function on host tensors takes from the graph around it.
#pragma once

#include <optional>
#include <unordered_map>

#include "systole/graph/graph.h"

namespace systole {

// The value of `output` where it depends on constants alone: no placeholder, no variable, no random
// op, and nothing else that may differ between runs. Errors: those of the ops that give it.
std::optional<Tensor> constant_result(Output output);

// The tensors that `function` captures while it is traced. Not thread-safe.
class Captures {
 public:
  // REQUIRES: both outlive it. `around`: the graph in which the function is traced.
  Captures(Graph& function, const Graph& around) : function_(function), around_(around) {}

  // What stands for `value` in the function: a constant, computed once. Errors: INVALID_ARGUMENT
  // for what depends on more than constants, with what to do; for a tensor of any other graph.
  Output capture(const Output& value);

 private:
  bool is_around(const Graph& graph) const;

  Graph& function_;
  const Graph& around_;
  std::unordered_map<Output, Output> captured_;
};

}  // namespace systole
