// Helpers of recurrent cells.
#pragma once

#include <string>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/train/rnn.h"

namespace systole::nn::rnn_cell {

// [inputs, state] * kernel + bias, with variables of the enclosing CellScope.
class AffineGates {
 public:
  // The variables are in `scope` below the current variable scope, unless it is empty.
  AffineGates(std::string scope, int64_t units, Initializer kernel_initializer,
              Initializer bias_initializer);
  // [batch, units]
  Output operator()(const Output& inputs, const Output& state) const;

 private:
  std::string scope_;
  int64_t units_;
  Initializer kernel_initializer_;
  Initializer bias_initializer_;
};

// The variable scope of a cell: `name`, or the first of default_name, default_name_1... that is
// free at the cell's first call in a graph. Later calls in that graph reuse its variables. Holds no
// reference to a graph, so a cell may outlive graphs.
class CellScope {
 public:
  CellScope(std::string name, std::string_view default_name);
  template <class F>
  auto run(const F& f) {
    int64_t& chosen = name_in_graph();
    const VariableScope scope(
        chosen == 0 ? name_ : chosen_[chosen - 1],
        {.default_name = default_name_, .reuse = chosen == 0 ? Reuse::inherit : Reuse::auto_reuse});
    if (chosen == 0) {
      chosen_.push_back(scope.name() + "/");
      chosen = static_cast<int64_t>(chosen_.size());
    }
    return f();
  }

 private:
  // The current graph's number for this cell: 1 + an index into chosen_; 0 before the first call.
  int64_t& name_in_graph() const;

  std::string name_;
  std::string default_name_;
  std::string key_;  // of this cell in graphs
  std::vector<std::string> chosen_;
};

inline layers::Activation tanh_when_absent(const layers::Activation& activation) {
  return activation ? activation : layers::Activation(&systole::tanh);
}

// Errors: INVALID_ARGUMENT unless `units` is at least 1.
void check_units(std::string_view cell, int64_t units);

// Returns a state that is one tensor. Errors: INVALID_ARGUMENT for another structure.
const Output& single_state(std::string_view cell, const State& state);

}  // namespace systole::nn::rnn_cell
