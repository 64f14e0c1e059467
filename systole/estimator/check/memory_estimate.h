// Estimates the memory of a core that a step needs.
#pragma once

#include <span>

#include "systole/estimator/check_report.h"
#include "systole/estimator/model.h"

namespace systole::estimator {

// `nodes`: the nodes of a step, in the order of the graph. `limit`: bytes of the core.
MemoryReport estimate_memory(const Model& model, std::span<const Node* const> nodes, int64_t limit);

}  // namespace systole::estimator
