// Reductions over all replicas of the program. With one replica each returns its argument.
#pragma once

#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/core/graph.h"

namespace systole {

// Return the sum and the mean over the replicas, equal on each. Differentiable.
Output replica_sum(const Output& x);
Output replica_mean(const Output& x);

// Returns the sum of a gradient over the replicas of each group; one group of all when there are
// none. Rows of a table (graph/gradients/indexed_slices.h) are the rows of all replicas then: no
// table-sized tensor is summed.
Output replica_sum_of_gradient(const Output& gradient, const tpu::GroupAssignment& groups = {});

}  // namespace systole
