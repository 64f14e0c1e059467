// Reductions of math_ops.h that are made of other ops.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"

namespace systole {
namespace {

Output variance(const Output& x, const ReduceOptions& options) {
  const Output mean = reduce_mean(x, {.axis = options.axis, .keepdims = true});
  return reduce_mean(squared_difference(x, mean), options);
}

}  // namespace

// The largest element is taken out of the sum, so that nothing overflows; where it is infinite, 0
// is, so that inf - inf does not appear.
Output reduce_logsumexp(const Input& input_tensor, const ReduceOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "ReduceLogSumExp");
  const Output x = resolve_as("ReduceLogSumExp", input_tensor, DTypeClass::floating);
  const Output largest = reduce_max(x, {.axis = options.axis, .keepdims = true});
  const Output shift = stop_gradient(where_v2(is_finite(largest), largest, 0));
  const ReduceOptions reduced{.axis = options.axis, .keepdims = options.keepdims};
  // The shift has size 1 along the axes: its sum is itself without them.
  return add(log(reduce_sum(exp(x - shift), reduced)), reduce_sum(shift, reduced), scope.result());
}

Output reduce_variance(const Input& input_tensor, const ReduceOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "reduce_variance");
  const Output x = resolve_as("reduce_variance", input_tensor, DTypeClass::floating);
  return variance(x, {options.axis, options.keepdims, scope.result().name});
}

Output reduce_std(const Input& input_tensor, const ReduceOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "reduce_std");
  const Output x = resolve_as("reduce_std", input_tensor, DTypeClass::floating);
  return sqrt(variance(x, {.axis = options.axis, .keepdims = options.keepdims}), scope.result());
}

}  // namespace systole
