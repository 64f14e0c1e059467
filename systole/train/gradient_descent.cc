#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/training_ops.h"
#include "systole/train/optimizer.h"

namespace systole {

GradientDescentOptimizer::GradientDescentOptimizer(Hyperparameter learning_rate,
                                                   const GradientDescentOptions& options)
    : Optimizer(options.name),
      learning_rate_(checked_learning_rate("GradientDescentOptimizer", std::move(learning_rate))) {}

Operation GradientDescentOptimizer::apply(const Output& gradient, const Variable& variable) {
  return apply_gradient_descent(variable.handle(),
                                resolve_learning_rate(learning_rate_, variable.dtype()), gradient);
}

Operation GradientDescentOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                                 const Variable& variable) {
  const Output rate = resolve_learning_rate(learning_rate_, variable.dtype());
  return resource_scatter_add(variable.handle(), {-(rate * slices.values), slices.indices});
}

}  // namespace systole
