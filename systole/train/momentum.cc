#include "systole/graph/api/training_ops.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/optimizer.h"

namespace systole {

MomentumOptimizer::MomentumOptimizer(Hyperparameter learning_rate, Hyperparameter momentum,
                                     const MomentumOptions& options)
    : Optimizer(options.name),
      learning_rate_(checked_learning_rate("MomentumOptimizer", std::move(learning_rate))),
      momentum_(std::move(momentum)),
      use_nesterov_(options.use_nesterov) {
  check_hyperparameter("MomentumOptimizer", "momentum", momentum_, HyperparameterRange::fraction);
}

Operation MomentumOptimizer::apply(const Output& gradient, const Variable& variable) {
  return update(gradient, {}, variable);
}

Operation MomentumOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                          const Variable& variable) {
  const IndexedSlices rows = sum_duplicates(slices);
  return update(rows.values, rows.indices, variable);
}

Operation MomentumOptimizer::update(const Output& gradient, const Output& indices,
                                    const Variable& variable) {
  const Variable accum = get_or_create_slot(variable, "momentum", name(), 0);
  const DType dtype = variable.dtype();
  return apply_momentum(variable.handle(), accum.handle(),
                        resolve_learning_rate(learning_rate_, dtype), gradient,
                        momentum_.resolve(dtype), use_nesterov_, indices);
}

}  // namespace systole
