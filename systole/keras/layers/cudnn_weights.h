// Kernels in the layout of CuDNNLSTM and CuDNNGRU. (Keras 2.2: _convert_rnn_weights)
#pragma once

#include <cstdint>

#include "systole/graph/core/graph.h"

namespace systole::keras::layers {

// kernel [rows, gates * units], of which each gate's block [rows, units] holds in row-major order
// the elements of a matrix [units, rows]. Returns the transposes of these matrices side by side:
// the kernel that inputs [.., rows] are multiplied with.
Output from_cudnn_kernel(const Output& kernel, int64_t gates);

}  // namespace systole::keras::layers
