// Networks to programs of the machine.
#pragma once

#include "systole/tpu_v1/compiler/network.h"
#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

// What compilation decided.
struct CompileReport {
  int64_t images_at_a_time = 0;  // of the batch
  int64_t buffer_rows = 0;       // of the Unified Buffer, at most
  int64_t weight_tiles = 0;
};

// Compiles a network for a batch. The program has a port for each input and output: a row for each
// position of each image, image by image, line by line. It computes as many images at a time as the
// Unified Buffer holds; arrays that are no longer needed give their rows to later ones. A layer of
// a kernel that is wider than one position, over an input of few channels, reads rows that hold the
// neighbours of a line side by side, which saves passes.
// Errors: INVALID_ARGUMENT for a network that check_network() refuses and a batch below 1;
// RESOURCE_EXHAUSTED, with the layer, if one image does not fit the Unified Buffer or the weights
// do not fit the weight memory.
Program compile_network(const Network& network, int64_t batch, const MachineConfig& config,
                        CompileReport* report = nullptr);

}  // namespace systole::tpu_v1
