#include "systole/graph/api/training_ops.h"
#include "systole/train/optimizer.h"

namespace systole {

AdagradOptimizer::AdagradOptimizer(Hyperparameter learning_rate, const AdagradOptions& options)
    : Optimizer(options.name),
      learning_rate_(checked_learning_rate("AdagradOptimizer", std::move(learning_rate))),
      initial_accumulator_value_(options.initial_accumulator_value) {
  if (!(initial_accumulator_value_ > 0)) {
    throw invalid_argument(
        "AdagradOptimizer: initial_accumulator_value, got {}, expected a positive number",
        initial_accumulator_value_);
  }
}

Operation AdagradOptimizer::apply(const Output& gradient, const Variable& variable) {
  return update(gradient, {}, variable);
}

Operation AdagradOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                         const Variable& variable) {
  const IndexedSlices rows = sum_duplicates(slices);
  return update(rows.values, rows.indices, variable);
}

Operation AdagradOptimizer::update(const Output& gradient, const Output& indices,
                                   const Variable& variable) {
  const Variable accum =
      get_or_create_slot(variable, "accumulator", name(), initial_accumulator_value_);
  return apply_adagrad(variable.handle(), accum.handle(),
                       resolve_learning_rate(learning_rate_, variable.dtype()), gradient, indices);
}

}  // namespace systole
