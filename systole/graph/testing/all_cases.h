// All rows of all op tables, and the nodes that they make: for checks that no op was left out.
#pragma once

#include <functional>
#include <vector>

#include "systole/graph/testing/op_tester.h"
#include "systole/graph/testing/session_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> all_op_cases();
std::vector<SessionCase> all_session_cases();

// Calls f with each node of the graph and of the functions in it.
void for_each_node(const Graph& graph, const std::function<void(const Node&)>& f);

}  // namespace systole::graph_testing
