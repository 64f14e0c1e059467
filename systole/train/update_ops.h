// Updates that go with a training step but with no gradient: moving averages.
#pragma once

#include <vector>

#include "systole/graph/api/graph.h"

namespace systole {

// The operations of the collection update_ops that belong to `loss`: they share a computation with
// it, and need no placeholder that it does not need.
std::vector<Operation> update_ops_of(const Output& loss);

}  // namespace systole
