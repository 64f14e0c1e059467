#include "systole/train/optimizer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/train/update_ops.h"

namespace systole {
namespace {

std::vector<std::string> names_of(const std::vector<GradientAndVariable>& grads_and_vars) {
  std::vector<std::string> names;
  names.reserve(grads_and_vars.size());
  for (const auto& [gradient, variable] : grads_and_vars) names.push_back(variable.name());
  return names;
}

}  // namespace

Operation Optimizer::minimize(Output loss, const MinimizeOptions& options) {
  const Operation applied = apply_gradients(
      compute_gradients(loss, {.var_list = options.var_list, .grad_loss = options.grad_loss}),
      {.global_step = options.global_step, .name = options.name});
  std::vector<Operation> all = update_ops_of(loss);
  if (all.empty()) return applied;
  all.push_back(applied);
  const GraphScope in_graph(loss.graph());
  return group(all, "train");
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(
    Output loss, const ComputeGradientsOptions& options) {
  if (!is_floating(loss.dtype())) {
    throw at_line(invalid_argument("{}.compute_gradients: loss '{}', got {}, expected a floating "
                                   "dtype",
                                   name_, loss.name(), loss.type()),
                  loss.node()->where());
  }
  const GraphScope in_graph(loss.graph());
  const std::vector<Variable> variables =
      options.var_list.empty() ? trainable_variables() : options.var_list;
  if (variables.empty())
    throw invalid_argument("{}.compute_gradients: No variables to optimize", name_);
  std::vector<Output> values;
  values.reserve(variables.size());
  for (const Variable& variable : variables) values.push_back(variable.value());
  GradientsOptions gradients_options;
  if (options.grad_loss.valid()) gradients_options.grad_ys = {options.grad_loss};
  const std::vector<Output> grads = gradients({loss}, values, gradients_options);
  std::vector<GradientAndVariable> result;
  for (size_t i = 0; i < variables.size(); ++i) result.push_back({grads[i], variables[i]});
  return result;
}

Operation Optimizer::apply_gradients(const std::vector<GradientAndVariable>& grads_and_vars,
                                     const ApplyGradientsOptions& options) {
  std::vector<Variable> variables;
  for (const auto& [gradient, variable] : grads_and_vars) {
    if (gradient.valid()) variables.push_back(variable);
  }
  if (variables.empty()) {
    throw invalid_argument(
        "{}.apply_gradients: No gradients provided for any variable, got [{}], expected one "
        "that the loss depends on",
        name_, fmt::join(names_of(grads_and_vars), ", "));
  }
  const GraphScope in_graph(variables.front().handle().graph());
  prepare(variables);
  std::vector<Operation> updates;
  const NameScope scope(options.name.empty() ? name_ : options.name);
  for (const auto& [gradient, variable] : grads_and_vars) {
    if (!gradient.valid()) continue;
    const NameScope update_scope("update_" + variable.name());
    const auto slices = indexed_slices(gradient);
    updates.push_back(slices ? apply_sparse(gradient, *slices, variable)
                             : apply(gradient, variable));
  }
  {
    const ControlDependencies after_updates(updates);
    std::ranges::copy(finish(), std::back_inserter(updates));
  }
  if (!options.global_step.valid()) return group(updates);
  const ControlDependencies after_all(updates);
  const Variable& step = options.global_step;
  return step.assign_add(Tensor::full(step.dtype(), {}, 1));
}

Operation Optimizer::apply_sparse(const Output& gradient, const IndexedSlices& /*slices*/,
                                  const Variable& variable) {
  return apply(gradient, variable);
}

Variable Optimizer::slot(const Variable& variable, std::string_view slot_name) const {
  const auto it = slots_.find({variable.handle().node(), std::string(slot_name)});
  return it == slots_.end() ? Variable() : it->second;
}

Variable Optimizer::get_or_create_slot(const Variable& variable, std::string_view slot_name,
                                       std::string_view operation_name, double initial_value,
                                       const std::optional<Shape>& shape) {
  Variable& slot = slots_[{variable.handle().node(), std::string(slot_name)}];
  if (!slot.valid()) {
    // The caller's name scope and control dependencies do not apply to slots.
    const NameScope root("");
    const ControlDependencies lifted(nullptr);
    const Tensor value = Tensor::full(variable.dtype(), {}, initial_value);
    slot = Variable(
        fill(shape.value_or(variable.shape()), value),
        {.name = fmt::format("{}/{}", variable.name(), operation_name), .trainable = false});
    made_.push_back(slot);
  }
  return slot;
}

Output Optimizer::resolve_learning_rate(const Input& learning_rate, DType dtype) {
  const Output rate = learning_rate.resolve(dtype);
  if (!learning_rate.is_output()) return rate;
  Graph& graph = rate.graph().root();
  const std::vector<Output> known = graph.collection<Output>(kLearningRates);
  if (std::ranges::find(known, rate) == known.end()) graph.add_to_collection(kLearningRates, rate);
  return rate;
}

Variable Optimizer::make_scalar(std::string_view name, const Input& initial_value) {
  const NameScope root("");
  Variable scalar(initial_value, {.name = std::string(name), .trainable = false});
  made_.push_back(scalar);
  return scalar;
}

}  // namespace systole
