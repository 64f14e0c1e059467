#include "systole/train/moving_averages.h"

#include <algorithm>
#include <set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/hyperparameter.h"

namespace systole {

ExponentialMovingAverage::ExponentialMovingAverage(const Input& decay,
                                                   const ExponentialMovingAverageOptions& options)
    : decay_(decay), options_(options) {
  check_hyperparameter("ExponentialMovingAverage", "decay", decay_, HyperparameterRange::fraction);
}

Variable ExponentialMovingAverage::average(const Variable& variable) const {
  const auto it = std::ranges::find(averages_, variable, &std::pair<Variable, Variable>::first);
  return it == averages_.end() ? Variable() : it->second;
}

std::string ExponentialMovingAverage::average_name(const Variable& variable) const {
  return variable.name() + "/" + options_.name;
}

Operation ExponentialMovingAverage::apply(std::vector<Variable> var_list) {
  if (var_list.empty()) var_list = trainable_variables();
  std::vector<Operation> updates;
  const NameScope scope(options_.name);
  for (const Variable& variable : var_list) {
    const DType dtype = variable.dtype();
    if (!is_floating(dtype)) {
      throw invalid_argument("{}: variable '{}', got {}, expected a floating dtype", options_.name,
                             variable.name(), variable.type());
    }
    if (!average(variable).valid()) {
      const NameScope root("");
      averages_.emplace_back(
          variable,
          Variable(variable.initial_value(), {.name = average_name(variable), .trainable = false}));
      Graph::current().root().add_to_collection(graph_keys::moving_average_variables, variable);
    }
    Output decay = decay_.resolve(dtype);
    if (options_.num_updates.valid()) {
      const Output updates_so_far = cast(options_.num_updates, dtype);
      decay = minimum(decay, (1 + updates_so_far) / (10 + updates_so_far));
    }
    const Variable kept = average(variable);
    updates.emplace_back(
        kept.assign_sub((1 - decay) * (kept.read_value() - variable.read_value())));
  }
  return group(updates, options_.name);
}

AssignmentMap ExponentialMovingAverage::variables_to_restore() const {
  std::vector<Variable> averaged = trainable_variables();
  for (const Variable& variable :
       Graph::current().root().collection<Variable>(graph_keys::moving_average_variables)) {
    averaged.push_back(variable);
  }
  AssignmentMap map;
  std::set<std::string> keys;
  std::set<std::string> restored;
  for (const Variable& variable : averaged) {
    if (!restored.insert(variable.name()).second) continue;
    keys.insert(average_name(variable));
    map.emplace_back(average_name(variable), variable.name());
  }
  for (const Variable& variable : global_variables()) {
    if (restored.contains(variable.name()) || keys.contains(variable.name())) continue;
    map.emplace_back(variable.name(), variable.name());
  }
  return map;
}

}  // namespace systole
