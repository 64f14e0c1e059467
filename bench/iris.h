// The training step of examples/iris_session.cc: batch 1, 5 x 256 x 3, sigmoid, softmax cross
// entropy, SGD.
#pragma once

#include <memory>

#include "systole/systole.h"

namespace bench {

// The graph, a session with initialised variables, and one example.
struct IrisStep {
  IrisStep();

  st::Graph graph;
  st::GraphScope scope{graph};
  st::Output x, y;
  st::Operation updates;
  std::unique_ptr<st::Session> session;
  st::Tensor example_x, example_y;
};

// From an empty process: building the graph's program and compiling it, not the run.
double seconds_to_compile_iris();

}  // namespace bench
