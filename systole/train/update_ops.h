// Updates of a training step that are not gradients: moving averages of batch normalization.
#pragma once

#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// Returns the operations of the collection update_ops that belong to `loss`: they share a
// computation with it, and need no placeholder that the loss does not need.
std::vector<Operation> update_ops_of(const Output& loss);

}  // namespace systole
