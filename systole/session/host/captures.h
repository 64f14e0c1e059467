// Tensors that a host function captures from the graph around it.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// Returns the value of `output` if it depends on constants alone: on no placeholder, variable,
// random op or other op that may differ between runs. Else nullopt. Errors: those of the ops.
std::optional<Tensor> constant_result(Output output);

// The tensors that `function` captures while it is traced. Not thread-safe.
class Captures {
 public:
  // Borrows both graphs. `around`: the graph in which the function is traced. `takes_values`:
  // captures that are not constant become arguments.
  Captures(Graph& function, const Graph& around, bool takes_values)
      : function_(function), around_(around), takes_values_(takes_values) {}

  // Returns the tensor that stands for `value` in the function: a constant, computed once, or an
  // argument. Errors: INVALID_ARGUMENT, with advice, for a value that depends on a variable, or on
  // other inputs if values are not taken; for a tensor of another graph.
  Output capture(const Output& value);

  // The captured values that are arguments, and these arguments.
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
