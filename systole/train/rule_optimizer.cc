// tf.train's form of the rules in graph/optimizers.
#include <fmt/format.h>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/training/update_op.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

constexpr std::string_view kStep = "step";
constexpr std::string_view kPower = "_power";

void check_train_argument(const std::string& owner, const OptimizerArgument& argument) {
  if (!argument.range) return;
  if (const auto* number = std::get_if<double>(&argument.value)) {
    check_hyperparameter(owner, argument.name, Input(*number), *argument.range);
  } else if (const auto* input = std::get_if<Hyperparameter>(&argument.value)) {
    check_hyperparameter(owner, argument.name, *input, *argument.range);
  }
}

}  // namespace

RuleOptimizer::RuleOptimizer(const OptimizerDef& def, std::string name,
                             Hyperparameter learning_rate,
                             const std::vector<OptimizerArgument>& arguments)
    : Optimizer(std::move(name)), def_(&def), learning_rate_(std::move(learning_rate)) {
  const std::string owner = fmt::format("{}Optimizer", def.name);
  check_hyperparameter(owner, "learning_rate", learning_rate_, HyperparameterRange::not_negative);
  for (const OptimizerArgument& argument : arguments) {
    check_train_argument(owner, argument);
    arguments_.values[std::string(argument.rule_name)] = argument.value;
  }
}

std::vector<std::string> RuleOptimizer::slot_names() const {
  std::vector<std::string> names;
  if (def_->slots == nullptr) return names;
  for (const OptimizerSlot& slot : def_->slots(arguments_, Shape{})) {
    names.emplace_back(slot.train_name);
  }
  return names;
}

void RuleOptimizer::prepare(const std::vector<Variable>& variables) {
  const DType dtype = variables.front().dtype();
  for (const std::string_view argument : def_->powers) {
    const std::string name = fmt::format("{}{}", argument, kPower);
    if (!state_.contains(name)) state_[name] = make_scalar(name, *scalar(argument, dtype));
  }
  if (def_->counts_steps && !state_.contains(kStep)) {
    state_[std::string(kStep)] = make_scalar(name() + "/iterations", Tensor(int64_t{1}));
  }
}

std::optional<Output> RuleOptimizer::scalar(std::string_view name, DType dtype) {
  if (name == "lr") return resolve_learning_rate(learning_rate_, dtype);
  if (const auto it = state_.find(name); it != state_.end()) return cast(it->second, dtype);
  const auto it = arguments_.values.find(name);
  if (it == arguments_.values.end()) return std::nullopt;
  if (const auto* number = std::get_if<double>(&it->second)) return Input(*number).resolve(dtype);
  if (const auto* input = std::get_if<Hyperparameter>(&it->second)) return input->resolve(dtype);
  return std::nullopt;
}

UpdateStep::Values RuleOptimizer::scalars(DType dtype) {
  UpdateStep::Values all = {{"lr", *scalar("lr", dtype)}};
  for (const auto& [name, value] : arguments_.values) {
    if (auto known = scalar(name, dtype)) all[name] = *known;
  }
  for (const auto& [name, variable] : state_) all[name] = *scalar(name, dtype);
  return all;
}

Operation RuleOptimizer::apply(const Output& gradient, const Variable& variable) {
  return update(gradient, {}, variable);
}

Operation RuleOptimizer::apply_sparse(const Output& gradient, const IndexedSlices& slices,
                                      const Variable& variable) {
  if (!def_->elementwise) return update(gradient, {}, variable);
  if (def_->adds_gradient) return add_rows(slices, variable);
  const IndexedSlices rows = sum_duplicates(slices);
  return update(rows.values, rows.indices, variable);
}

// The step of a variable that is 0 is what the gradient adds to any.
Operation RuleOptimizer::add_rows(const IndexedSlices& slices, const Variable& variable) {
  UpdateStep::Inputs inputs;
  inputs.variable = zeros_like(slices.values);
  inputs.gradient = slices.values;
  inputs.scalars = scalars(variable.dtype());
  const UpdateStep step = run_update(*def_, arguments_, std::move(inputs));
  return resource_scatter_add(variable.handle(), {step.new_variable(), slices.indices});
}

Operation RuleOptimizer::add_op(const OpDef& op, const Output& gradient, const Output& indices,
                                const Variable& variable) {
  const DType dtype = variable.dtype();
  std::map<std::string_view, Variable> slots;
  if (def_->slots != nullptr) {
    for (const OptimizerSlot& slot : def_->slots(arguments_, variable.shape())) {
      slots[slot.name] = get_or_create_slot(variable, slot.train_name, name(), slot.initial);
    }
  }
  return add_update_op(op, arguments_, [&](std::string_view input) {
    if (input == "var") return variable.handle();
    if (input == "grad") return gradient;
    if (input == "indices") return indices;
    const auto it = slots.find(input);
    return it != slots.end() ? it->second.handle() : scalar(input, dtype).value();
  });
}

Operation RuleOptimizer::update(const Output& gradient, const Output& indices,
                                const Variable& variable) {
  if (const OpDef* op = find_update_op(*def_, arguments_, indices.valid())) {
    return add_op(*op, gradient, indices, variable);
  }
  UpdateStep::Inputs inputs;
  inputs.name = variable.name();
  inputs.variable = variable.read_value();
  inputs.gradient = gradient;
  inputs.indices = indices;
  inputs.rows = def_->rows;
  inputs.scalars = scalars(variable.dtype());
  std::map<std::string, Variable> slots;
  if (def_->slots != nullptr) {
    for (const OptimizerSlot& slot : def_->slots(arguments_, variable.shape())) {
      const std::string slot_name(slot.name);
      slots[slot_name] =
          get_or_create_slot(variable, slot.train_name, name(), slot.initial, slot.shape);
      inputs.slots[slot_name] = slots[slot_name].read_value();
    }
  }
  const UpdateStep step = run_update(*def_, arguments_, std::move(inputs));
  std::vector<Operation> assigned;
  for (const auto& [slot, value] : step.new_slots()) {
    assigned.emplace_back(slots.at(slot).assign(value).node());
  }
  assigned.emplace_back(variable.assign(step.new_variable()).node());
  return group(assigned);
}

std::vector<Operation> RuleOptimizer::finish() {
  std::vector<Operation> updates;
  for (const std::string_view argument : def_->powers) {
    const Variable& power = state_.at(fmt::format("{}{}", argument, kPower));
    updates.emplace_back(power.assign(power * *scalar(argument, power.dtype())).node());
  }
  if (def_->counts_steps) {
    updates.emplace_back(state_.find(kStep)->second.assign_add(Tensor(int64_t{1})).node());
  }
  return updates;
}

}  // namespace systole
