// Moving averages of variables, to evaluate with. (tensorflow/python/training/moving_averages.py)
//
//   st::ExponentialMovingAverage ema(0.999);
//   st::Operation train_op;
//   {
//     const st::ControlDependencies after({optimizer.minimize(loss)});
//     train_op = ema.apply(st::trainable_variables());
//   }
//
// and in the graph that evaluates, which applies nothing, after its variables are made:
//
//   const st::ExponentialMovingAverage ema(0.999);
//   st::init_from_checkpoint(session, checkpoint, ema.variables_to_restore());
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/variable.h"
#include "systole/train/saver.h"

namespace systole {

namespace graph_keys {
// The variables that have an average.
inline constexpr std::string_view moving_average_variables = "moving_average_variables";
}  // namespace graph_keys

struct ExponentialMovingAverageOptions {
  // The decay is at most (1 + n) / (10 + n) of this scalar n, so that averages move faster at
  // first; none when invalid.
  Output num_updates = {};
  std::string name = "ExponentialMovingAverage";
};

// Keeps a variable beside each variable that it is given, "w/ExponentialMovingAverage", which
// starts at its initial value: average = decay * average + (1 - decay) * variable.
// (tf.train.ExponentialMovingAverage) Not synchronised.
class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(const Input& decay,
                                    const ExponentialMovingAverageOptions& options = {});

  // Moves the averages, making those that are not there, by the values that the variables have
  // after the control dependencies in force. All trainable variables when empty. Errors:
  // INVALID_ARGUMENT for a variable that is not floating.
  Operation apply(std::vector<Variable> var_list = {});

  // Invalid when apply() was not given the variable.
  Variable average(const Variable& variable) const;
  std::string average_name(const Variable& variable) const;
  // What takes the averages out of a checkpoint into the variables: init_from_checkpoint()'s map.
  // Of the current graph, all trainable variables and those of graph_keys::moving_average_variables
  // are restored from their averages, all other global variables from what has their own names;
  // apply() need not have been called.
  AssignmentMap variables_to_restore() const;

 private:
  Input decay_;
  ExponentialMovingAverageOptions options_;
  std::vector<std::pair<Variable, Variable>> averages_;  // in the order of making
};

}  // namespace systole
