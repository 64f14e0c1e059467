#include <utility>

#include "systole/graph/api/training_ops.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

void check_adadelta(const AdadeltaOptions& options) {
  check_hyperparameter("AdadeltaOptimizer", "rho", options.rho, HyperparameterRange::fraction);
  check_hyperparameter("AdadeltaOptimizer", "epsilon", options.epsilon,
                       HyperparameterRange::not_negative);
}

}  // namespace

AdadeltaOptimizer::AdadeltaOptimizer(const AdadeltaOptions& options)
    : Optimizer(options.name), options_(options) {
  checked_learning_rate("AdadeltaOptimizer", options_.learning_rate);
  check_adadelta(options_);
}

AdadeltaOptimizer::AdadeltaOptimizer(Hyperparameter learning_rate, AdadeltaOptions options)
    : Optimizer(options.name), options_(std::move(options)) {
  options_.learning_rate = checked_learning_rate("AdadeltaOptimizer", std::move(learning_rate));
  check_adadelta(options_);
}

Operation AdadeltaOptimizer::apply(const Output& gradient, const Variable& variable) {
  return update(gradient, {}, variable);
}

Operation AdadeltaOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                          const Variable& variable) {
  const IndexedSlices rows = sum_duplicates(slices);
  return update(rows.values, rows.indices, variable);
}

Operation AdadeltaOptimizer::update(const Output& gradient, const Output& indices,
                                    const Variable& variable) {
  const DType dtype = variable.dtype();
  return apply_adadelta(
      {.var = variable.handle(),
       .accum = get_or_create_slot(variable, "accum", name(), 0).handle(),
       .accum_update = get_or_create_slot(variable, "accum_update", name(), 0).handle(),
       .learning_rate = resolve_learning_rate(options_.learning_rate, dtype),
       .rho = options_.rho.resolve(dtype),
       .epsilon = options_.epsilon.resolve(dtype),
       .gradient = gradient,
       .indices = indices});
}

}  // namespace systole
