// The rows that check control_flow_ops.h, for the graph layer's tests and for conformance tests of
// backends.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

std::vector<OpCase> control_flow_op_cases();  // cond, while_loop, one in the other

}  // namespace systole::graph_testing
