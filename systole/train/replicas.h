// Reductions over all replicas of the program. With one replica each returns its argument.
#pragma once

#include "systole/graph/api/graph.h"

namespace systole {

// Return the sum and the mean over the replicas, equal on each. Differentiable.
Output replica_sum(const Output& x);
Output replica_mean(const Output& x);

}  // namespace systole
