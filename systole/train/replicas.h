// Values over all replicas of the program being built. On one replica each is its argument.
#pragma once

#include "systole/graph/api/graph.h"

namespace systole {

// The sum, the mean over the replicas; the same on each. Differentiable.
Output replica_sum(const Output& x);
Output replica_mean(const Output& x);

}  // namespace systole
