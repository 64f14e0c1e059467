#include "systole/graph/api/training_ops.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/optimizer.h"

namespace systole {

RMSPropOptimizer::RMSPropOptimizer(Hyperparameter learning_rate, const RMSPropOptions& options)
    : Optimizer(options.name),
      learning_rate_(checked_learning_rate("RMSPropOptimizer", std::move(learning_rate))),
      options_(options) {
  constexpr std::string_view kOwner = "RMSPropOptimizer";
  check_hyperparameter(kOwner, "decay", options_.decay, HyperparameterRange::fraction);
  check_hyperparameter(kOwner, "momentum", options_.momentum, HyperparameterRange::fraction);
  check_hyperparameter(kOwner, "epsilon", options_.epsilon, HyperparameterRange::not_negative);
}

std::vector<std::string> RMSPropOptimizer::slot_names() const {
  if (options_.centered) return {"rms", "mg", "momentum"};
  return {"rms", "momentum"};
}

Operation RMSPropOptimizer::apply(const Output& gradient, const Variable& variable) {
  return update(gradient, {}, variable);
}

Operation RMSPropOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                         const Variable& variable) {
  const IndexedSlices rows = sum_duplicates(slices);
  return update(rows.values, rows.indices, variable);
}

Operation RMSPropOptimizer::update(const Output& gradient, const Output& indices,
                                   const Variable& variable) {
  const DType dtype = variable.dtype();
  // TensorFlow's order, which names the slots in checkpoints: rms, mg, momentum.
  const Output mean_square = get_or_create_slot(variable, "rms", name(), 1).handle();
  Output mean_gradient;
  if (options_.centered) mean_gradient = get_or_create_slot(variable, "mg", name(), 0).handle();
  const RMSPropInputs inputs{
      .var = variable.handle(),
      .mean_square = mean_square,
      .momentum_slot = get_or_create_slot(variable, "momentum", name(), 0).handle(),
      .mean_gradient = mean_gradient,
      .learning_rate = resolve_learning_rate(learning_rate_, dtype),
      .rho = options_.decay.resolve(dtype),
      .momentum = options_.momentum.resolve(dtype),
      .epsilon = options_.epsilon.resolve(dtype),
      .gradient = gradient,
      .indices = indices};
  return options_.centered ? apply_centered_rms_prop(inputs) : apply_rms_prop(inputs);
}

}  // namespace systole
