#include "systole/train/replicas.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/indexed_slices.h"

namespace systole {

Output replica_sum(const Output& x) { return tpu::cross_replica_sum(x); }

// Counts the replicas when the program runs: the graph does not know their number.
Output replica_mean(const Output& x) {
  const Output count = tpu::cross_replica_sum(ones({}, x.dtype()));
  return replica_sum(x) / count;
}

Output replica_sum_of_gradient(const Output& gradient, const tpu::GroupAssignment& groups) {
  const tpu::CrossReplicaSumOptions options{.group_assignment = groups};
  const auto slices = indexed_slices(gradient);
  if (!slices) return tpu::cross_replica_sum(gradient, options);
  return with_slices(gradient, {tpu::all_gather(slices->values, options),
                                tpu::all_gather(slices->indices, options)});
}

}  // namespace systole
