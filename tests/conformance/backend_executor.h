// Runs modules on a backend, for the op tables of systole/graph/testing.
#pragma once

#include <string_view>

#include "systole/graph/testing/mini_session.h"

namespace systole::conformance {

// Compiles and runs on the backend of that name. Compares every result with the reference
// evaluator's; values may differ only by the order of sums, any other difference fails the test.
// Errors: those of Client::compile.
graph_testing::Executor backend_executor(std::string_view backend);

}  // namespace systole::conformance
