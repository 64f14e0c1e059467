#include "systole/train/replicas.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/tpu_collectives.h"

namespace systole {

Output replica_sum(const Output& x) { return tpu::cross_replica_sum(x); }

// Counts the replicas when the program runs: the graph does not know their number.
Output replica_mean(const Output& x) {
  const Output count = tpu::cross_replica_sum(ones({}, x.dtype()));
  return replica_sum(x) / count;
}

}  // namespace systole
