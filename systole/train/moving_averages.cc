#include "systole/train/moving_averages.h"

#include <algorithm>

#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"

namespace systole {

ExponentialMovingAverage::ExponentialMovingAverage(Input decay,
                                                   const ExponentialMovingAverageOptions& options)
    : decay_(std::move(decay)), options_(options) {}

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
      averages_.emplace_back(variable,
                             Variable(variable.initial_value(),
                                      {.name = average_name(variable),
                                       .trainable = false,
                                       .collections = {"variables", "moving_average_variables"}}));
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
  AssignmentMap map;
  for (const auto& [variable, kept] : averages_) map.emplace_back(kept.name(), variable.name());
  return map;
}

}  // namespace systole
