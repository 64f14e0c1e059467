// The rows that check debugging_ops.h and custom_gradient.h, for the graph layer's tests and for
// conformance tests of backends.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

std::vector<OpCase> debugging_op_cases();

}  // namespace systole::graph_testing
