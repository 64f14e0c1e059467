// Programs that a row of an op table cannot show: they run several times and change variables.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "systole/graph/testing/mini_session.h"

namespace systole::graph_testing {

struct SessionCase {
  std::string name;
  // Builds in the current graph, runs, expects as gtest does.
  std::function<void(MiniSession&)> run;
};

std::vector<SessionCase> variable_cases();  // assignments, reads, the global step
std::vector<SessionCase> update_cases();    // the update ops of optimizers

// Runs the case in a graph of its own, which it returns.
std::shared_ptr<Graph> check_session(const SessionCase& session_case,
                                     const Executor& executor = evaluate_by_reference);

}  // namespace systole::graph_testing
