// What cells have in common.
#pragma once

#include <string>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/train/rnn.h"

namespace systole::nn::rnn_cell {

// [inputs, state] * kernel + bias, of get_variable's variables: within a CellScope, whose reuse
// says whether they are made.
class AffineGates {
 public:
  // Under `scope` of the current variable scope when that is not empty.
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

// The variable scope that a cell makes its variables in: `name`, or the first of default_name,
// default_name_1... that is free when the cell is first called in a graph. Later calls in that
// graph use that scope's variables again. Holds nothing of a graph, so that a cell may outlive it.
class CellScope {
 public:
  CellScope(std::string name, std::string_view default_name);
  template <class F>
  auto run(const F& f) {
    int64_t& chosen = name_in_graph();
    const VariableScope scope(
        chosen == 0 ? name_ : chosen_[static_cast<size_t>(chosen - 1)],
        {.default_name = default_name_, .reuse = chosen == 0 ? Reuse::inherit : Reuse::auto_reuse});
    if (chosen == 0) {
      chosen_.push_back(scope.name() + "/");
      chosen = static_cast<int64_t>(chosen_.size());
    }
    return f();
  }

 private:
  // A number that the current graph keeps for this cell: which of chosen_ the name is, from 1 on; 0
  // before the first call.
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

// A state that is one tensor. Errors: INVALID_ARGUMENT for another structure.
const Output& single_state(std::string_view cell, const State& state);

}  // namespace systole::nn::rnn_cell
