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
  if (options_.centered) return {"rms", "momentum", "mg"};
  return {"rms", "momentum"};
}

Operation RMSPropOptimizer::apply(const Output& gradient, const Variable& variable) {
  const DType dtype = variable.dtype();
  RMSPropInputs inputs{
      .var = variable.handle(),
      .mean_square = get_or_create_slot(variable, "rms", name(), 1).handle(),
      .momentum_slot = get_or_create_slot(variable, "momentum", name(), 0).handle(),
      .mean_gradient = {},
      .learning_rate = resolve_learning_rate(learning_rate_, dtype),
      .rho = options_.decay.resolve(dtype),
      .momentum = options_.momentum.resolve(dtype),
      .epsilon = options_.epsilon.resolve(dtype),
      .gradient = gradient};
  if (!options_.centered) return apply_rms_prop(inputs);
  inputs.mean_gradient = get_or_create_slot(variable, "mg", name(), 0).handle();
  return apply_centered_rms_prop(inputs);
}

}  // namespace systole
