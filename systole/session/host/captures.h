// What a function on host tensors takes from the graph around it.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "systole/graph/api/graph.h"

namespace systole {

// The value of `output` where it depends on constants alone: no placeholder, no variable, no random
// op, and nothing else that may differ between runs. Errors: those of the ops that give it.
std::optional<Tensor> constant_result(Output output);

// The tensors that `function` captures while it is traced. Not thread-safe.
class Captures {
 public:
  // REQUIRES: both graphs outlive it. `around`: the one in which the function is traced.
  Captures(Graph& function, const Graph& around, bool takes_values)
      : function_(function), around_(around), takes_values_(takes_values) {}

  // What stands for `value` in the function: a constant, computed once, or where it
  // `takes_values` and `value` follows from more than constants, an argument. Errors:
  // INVALID_ARGUMENT, with what to do, for what follows from variables, or from more than constants
  // and is not taken; for a tensor of any other graph.
  Output capture(const Output& value);

  // The values that are taken, and the arguments that stand for them.
  const std::vector<Output>& values() const { return values_; }
  const std::vector<Output>& arguments() const { return arguments_; }

 private:
  bool is_around(const Graph& graph) const;
  Output add(const Output& value);

  Graph& function_;
  const Graph& around_;
  const bool takes_values_;
  std::vector<Output> values_;
  std::vector<Output> arguments_;
  std::unordered_map<Output, Output> captured_;
};

}  // namespace systole
