// How a network's inputs lie in host memory and in the Unified Buffer.
#pragma once

#include <optional>
#include <vector>

#include "systole/tpu_v1/compiler/network.h"

namespace systole::tpu_v1 {

// An input whose rows in the Unified Buffer hold `kernel_x` neighbours of a line side by side: one
// row for each output column of the layer that reads it. The rows overlap in host memory.
struct SideBySide {
  int64_t width = 0;     // of the input in host memory
  int64_t channels = 0;  // bytes of a position
  int64_t line = 0;      // positions of a line in host memory, with padding
  int64_t pad_left = 0;  // positions before the first one
  int64_t start = 0;     // position of the first row
  int64_t stride = 1;    // positions between rows
  int64_t bytes = 0;     // of a row
};

// By array of the network; empty for arrays as they are.
using InputForms = std::vector<std::optional<SideBySide>>;

// Rewrites inputs that only one kind of layer reads, and those layers:
//  - fully connected layers over whole images: the image becomes a vector;
//  - a convolution over few channels: neighbours of a line side by side, kernel_x becomes 1.
// The order of an input's bytes does not change.
InputForms choose_input_forms(Network& network, const MachineConfig& config);

}  // namespace systole::tpu_v1
