// The training step of examples/iris_session.cc: batch 1, 5 x 256 x 3, sigmoid, softmax cross
// entropy, SGD.
#pragma once

#include <memory>
#include <string>

#include "systole/systole.h"

namespace bench {

// The graph, a session with initialised variables, and one example.
struct IrisStep {
  explicit IrisStep(const std::string& target = "");

  st::Graph graph;
  st::GraphScope scope{graph};
  st::Output x, y;
  st::Operation updates;
  std::unique_ptr<st::Session> session;
  st::Tensor example_x, example_y;
};

// Builds the graph's program and compiles it, without running it.
double seconds_to_compile_iris();

}  // namespace bench
