// Values of ops in tests.
#pragma once

#include <functional>

#include "systole/graph/core/graph.h"
#include "systole/session/session.h"

namespace systole::keras {

// Returns the value of what `build` adds to a graph of its own.
inline Tensor value_of(const std::function<Output()>& build) {
  Graph graph;
  const GraphScope scope(graph);
  const Output output = build();
  Session session("", {.graph = &graph});
  return session.run(output);
}

}  // namespace systole::keras
