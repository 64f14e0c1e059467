#include "systole/graph/optimizers/update_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/gradients/indexed_slices.h"

namespace systole {

bool OptimizerArguments::flag(std::string_view name) const {
  const auto it = values.find(name);
  return it != values.end() && std::get<bool>(it->second);
}

double OptimizerArguments::number(std::string_view name) const {
  const auto it = values.find(name);
  if (it == values.end()) return 0;
  if (const auto* number = std::get_if<double>(&it->second)) return *number;
  return std::get<Hyperparameter>(it->second).literal().value_or(0);
}

bool OptimizerArguments::has_patterns(std::string_view name) const {
  const auto it = values.find(name);
  return it != values.end() && !std::get<NamePatterns>(it->second).empty();
}

bool OptimizerArguments::matches(std::string_view name, const std::string& parameter) const {
  const auto it = values.find(name);
  return it != values.end() &&
         std::ranges::any_of(std::get<NamePatterns>(it->second), [&](const std::string& pattern) {
           return std::regex_search(parameter, std::regex(pattern));
         });
}

UpdateStep::UpdateStep(const OptimizerArguments& arguments, Inputs inputs)
    : arguments_(arguments), inputs_(std::move(inputs)) {}

Term UpdateStep::term_of(const Output& tensor) const {
  if (!inputs_.indices.valid() || tensor.shape().rank() == 0) return tensor;
  return apart() ? Term(gather(tensor, inputs_.indices)) : Term::table(tensor, inputs_.indices);
}

Term UpdateStep::gradient() const {
  const bool some = inputs_.indices.valid() && !apart();
  return some ? Term::rows(inputs_.gradient) : Term(inputs_.gradient);
}

Term UpdateStep::operator[](std::string_view argument) const {
  const auto it = inputs_.scalars.find(argument);
  // Arguments are kept in f32.
  return it != inputs_.scalars.end()
             ? Term(it->second)
             : Term(static_cast<double>(static_cast<float>(arguments_.number(argument))));
}

Term UpdateStep::power(std::string_view argument) const {
  const auto it = inputs_.scalars.find(fmt::format("{}_power", argument));
  return it != inputs_.scalars.end() ? Term(it->second) : pow((*this)[argument], step());
}

Output UpdateStep::put(const Output& before, const Output& rows) const {
  return replace_rows(before, inputs_.indices, rows);
}

Term UpdateStep::assign(std::string_view slot, const Term& value) {
  const std::string name(slot);
  if (apart() && inputs_.slots.at(name).shape().rank() != 0) {
    new_slots_[name] = put(inputs_.slots.at(name), value.tensor());
    return value;
  }
  if (value.exact()) {
    new_slots_[name] = value.everywhere();
  } else {
    new_slots_[name] = put(value.everywhere(), value.in_rows());
  }
  return Term::updated(new_slots_[name], value);
}

void UpdateStep::assign(const Term& variable) {
  if (apart()) {
    new_variable_ = put(inputs_.variable, variable.tensor());
  } else if (inputs_.indices.valid() && inputs_.rows == UpdatedRows::touched_variable) {
    new_variable_ = put(inputs_.variable, variable.in_rows());
  } else if (variable.exact()) {
    new_variable_ = variable.everywhere();
  } else {
    new_variable_ = put(variable.everywhere(), variable.in_rows());
  }
}

UpdateStep run_update(const OptimizerDef& def, const OptimizerArguments& arguments,
                      UpdateStep::Inputs inputs) {
  UpdateStep step(arguments, std::move(inputs));
  def.update(step);
  return step;
}

}  // namespace systole
