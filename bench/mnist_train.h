// MNIST by TPUEstimator on a virtual TPU of 8 cores: the program of examples/mnist_tpuestimator.cc.
#pragma once

#include <string>

namespace bench {

// Trains one step on `records`. Returns the seconds until it was done, since `started`: the
// system's monotonic clock in nanoseconds, when the process was about to be started.
double seconds_to_first_step(const std::string& records, int64_t started);

}  // namespace bench
