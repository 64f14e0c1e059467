// Training of a convolutional network on MNIST by TPUEstimator, on the eight cores of a virtual
// TPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace bench {

struct MnistTraining {
  int64_t batch = 1024;
  int64_t iterations = 5;
  int64_t loops = 3;    // the first is not timed: it compiles
  bool writes = false;  // summaries and a checkpoint at the end of every loop

  constexpr int64_t timed_images() const { return batch * iterations * (loops - 1); }
};

// Seconds from the end of the first loop to the end of the last.
double seconds_to_train_mnist(const MnistTraining& training);

}  // namespace bench
