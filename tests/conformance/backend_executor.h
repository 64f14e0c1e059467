// Runs modules on a backend, for the op tables of systole/graph/testing.
#pragma once

#include <string_view>

#include "systole/graph/testing/mini_session.h"

namespace systole::conformance {

// Compiles for the backend of that name and runs there. Every result of every run is compared with
// the reference evaluator's, whose value it must be but for the order of sums: a difference is a
// failure of the test. Errors: those of Client::compile.
graph_testing::Executor backend_executor(std::string_view backend);

}  // namespace systole::conformance
