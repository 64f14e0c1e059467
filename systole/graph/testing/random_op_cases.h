// The rows that check random_ops.h, for the graph layer's tests and for conformance tests of
// backends. A row's programs all draw the same numbers.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

// Ranges, dtypes, and gradients by what moves and stretches a distribution.
std::vector<OpCase> random_op_cases();

}  // namespace systole::graph_testing
