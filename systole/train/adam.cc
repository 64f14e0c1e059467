#include <utility>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/training_ops.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

void check_adam(const AdamOptions& options) {
  check_hyperparameter("AdamOptimizer", "beta1", options.beta1, HyperparameterRange::below_one);
  check_hyperparameter("AdamOptimizer", "beta2", options.beta2, HyperparameterRange::below_one);
  check_hyperparameter("AdamOptimizer", "epsilon", options.epsilon,
                       HyperparameterRange::not_negative);
}

}  // namespace

AdamOptimizer::AdamOptimizer(const AdamOptions& options)
    : Optimizer(options.name), options_(options) {
  checked_learning_rate("AdamOptimizer", options_.learning_rate);
  check_adam(options_);
}

AdamOptimizer::AdamOptimizer(Hyperparameter learning_rate, AdamOptions options)
    : Optimizer(options.name), options_(std::move(options)) {
  options_.learning_rate = checked_learning_rate("AdamOptimizer", std::move(learning_rate));
  check_adam(options_);
}

void AdamOptimizer::prepare(const std::vector<Variable>& variables) {
  if (beta1_power_.valid()) return;
  const DType dtype = variables.front().dtype();
  beta1_power_ = make_scalar("beta1_power", options_.beta1.resolve(dtype));
  beta2_power_ = make_scalar("beta2_power", options_.beta2.resolve(dtype));
}

Operation AdamOptimizer::apply(const Output& gradient, const Variable& variable) {
  const DType dtype = variable.dtype();
  return apply_adam({.var = variable.handle(),
                     .m = get_or_create_slot(variable, "m", name(), 0).handle(),
                     .v = get_or_create_slot(variable, "v", name(), 0).handle(),
                     .beta1_power = cast(beta1_power_, dtype),
                     .beta2_power = cast(beta2_power_, dtype),
                     .learning_rate = resolve_learning_rate(options_.learning_rate, dtype),
                     .beta1 = options_.beta1.resolve(dtype),
                     .beta2 = options_.beta2.resolve(dtype),
                     .epsilon = options_.epsilon.resolve(dtype),
                     .gradient = gradient});
}

// Every row's moments decay, and every row moves by them.
Operation AdamOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                      const Variable& variable) {
  const DType dtype = variable.dtype();
  const IndexedSlices rows = sum_duplicates(slices);
  const Variable m = get_or_create_slot(variable, "m", name(), 0);
  const Variable v = get_or_create_slot(variable, "v", name(), 0);
  const Output beta1 = options_.beta1.resolve(dtype);
  const Output beta2 = options_.beta2.resolve(dtype);
  const auto decay_and_add = [&](const Variable& slot, const Output& beta, const Output& values) {
    const Operation decayed(slot.assign(slot.read_value() * beta).node());
    const ControlDependencies after({decayed});
    return resource_scatter_add(slot.handle(), {(1 - beta) * values, rows.indices});
  };
  const Operation new_m = decay_and_add(m, beta1, rows.values);
  const Operation new_v = decay_and_add(v, beta2, square(rows.values));
  const ControlDependencies after_slots({new_m, new_v});
  const Output rate = resolve_learning_rate(options_.learning_rate, dtype) *
                      sqrt(1 - cast(beta2_power_, dtype)) / (1 - cast(beta1_power_, dtype));
  const Output step =
      rate * m.read_value() / (sqrt(v.read_value()) + options_.epsilon.resolve(dtype));
  return Operation(variable.assign_sub(step).node());
}

std::vector<Operation> AdamOptimizer::finish() {
  const DType dtype = beta1_power_.dtype();
  return {beta1_power_.assign(multiply(beta1_power_, options_.beta1.resolve(dtype))),
          beta2_power_.assign(multiply(beta2_power_, options_.beta2.resolve(dtype)))};
}

}  // namespace systole
