// The rows that check quantization_ops.h, for the graph layer's tests and for conformance tests of
// backends.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

std::vector<OpCase> quantization_op_cases();

}  // namespace systole::graph_testing
