#include "systole/graph/testing/session_cases.h"

#include <gtest/gtest.h>

namespace systole::graph_testing {

std::shared_ptr<Graph> check_session(const SessionCase& session_case, const Executor& executor) {
  SCOPED_TRACE(session_case.name);
  auto graph = std::make_shared<Graph>();
  const GraphScope scope(*graph);
  MiniSession session(0, executor);
  try {
    session_case.run(session);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  return graph;
}

}  // namespace systole::graph_testing
