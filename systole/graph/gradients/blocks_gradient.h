// Where gradients end.
#pragma once

#include "systole/graph/core/graph.h"

namespace systole {

// True when no gradient flows through the node, by its op or by that which a GradientOverrideMap
// has put in its place.
bool blocks_gradient(const Node& node);

}  // namespace systole
