// The training step of a convolutional network for MNIST: 5x5x32, pool, 5x5x64, pool, dense 128,
// dropout 0.4, dense 10; batch 128; sparse softmax cross entropy, SGD.
#pragma once

#include <memory>
#include <string>

#include "systole/systole.h"

namespace bench {

// The graph, a session with initialised variables, and one batch. With bf16, the layers compute in
// bf16; variables and the loss are f32.
struct CnnStep {
  explicit CnnStep(st::DType dtype, const std::string& target = "", int num_threads = 0);

  static constexpr int64_t kBatch = 128;
  st::Graph graph;
  st::GraphScope scope{graph};
  st::Output images, labels;  // f32[128,784], s32[128]
  st::Output loss;
  st::Operation updates;
  std::unique_ptr<st::Session> session;
  std::vector<st::Tensor> batch;
};

// Builds the graph's program and compiles it, without running it.
double seconds_to_compile_cnn();

}  // namespace bench
