// Moving averages of variables, for evaluation. (tensorflow/python/training/moving_averages.py)
//
//   st::ExponentialMovingAverage ema(0.999);
//   st::Operation train_op;
//   {
//     const st::ControlDependencies after({optimizer.minimize(loss)});
//     train_op = ema.apply(st::trainable_variables());
//   }
//
// In the graph that evaluates, after its variables are created:
//
//   const st::ExponentialMovingAverage ema(0.999);
//   st::init_from_checkpoint(session, checkpoint, ema.variables_to_restore());
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/train/saver.h"

namespace systole {

namespace graph_keys {
// The collection of variables that have an average.
inline constexpr std::string_view moving_average_variables = "moving_average_variables";
}  // namespace graph_keys

struct ExponentialMovingAverageOptions {
  // Limits the decay to (1 + n) / (10 + n) for this scalar n, so that averages move faster at
  // first. Invalid: no limit.
  Output num_updates = {};
  std::string name = "ExponentialMovingAverage";
};

// Keeps an average "w/ExponentialMovingAverage" for each variable w, which starts at the variable's
// initial value: average = decay * average + (1 - decay) * variable.
// (tf.train.ExponentialMovingAverage) Not synchronised.
class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(const Input& decay,
                                    const ExponentialMovingAverageOptions& options = {});

  // Returns an op that updates the averages from the values that the variables have after the
  // current control dependencies. Creates missing averages. Empty: all trainable variables. Errors:
  // INVALID_ARGUMENT for a variable that is not floating.
  Operation apply(std::vector<Variable> var_list = {});

  // Returns the average of a variable; an invalid one if apply() did not get the variable.
  Variable average(const Variable& variable) const;
  std::string average_name(const Variable& variable) const;
  // Returns a map for init_from_checkpoint() that restores variables from their averages: all
  // trainable variables of the current graph and those of graph_keys::moving_average_variables.
  // Other global variables are restored from their own names. apply() need not have been called.
  AssignmentMap variables_to_restore() const;

 private:
  Input decay_;
  ExponentialMovingAverageOptions options_;
  std::vector<std::pair<Variable, Variable>> averages_;  // in the order of creation
};

}  // namespace systole
