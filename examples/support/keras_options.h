// Options and results that the Keras examples share.
#pragma once

#include <cstdint>
#include <string>

#include "systole/base/command_line.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"

namespace examples {

struct KerasOptions {
  std::string data_dir;
  int64_t cores = 8;
  int64_t epochs = 10;
};

// Adds --data_dir, --cores and --epochs with the values of `options` as defaults. `folder`: what is
// read below data_dir, "imdb".
void add_keras_options(st::CommandLine& line, KerasOptions& options, const std::string& folder);

// One core of a virtual TPU, or all eight. Errors: INVALID_ARGUMENT for other numbers of cores.
st::keras::tpu::TPUDistributionStrategy strategy_of(const KerasOptions& options);

// Prints "best val_acc 0.8412, last 0.8302": the best is the smallest loss, or the largest of other
// values. Prints nothing if no epoch is complete.
void print_best(const st::keras::History& history, const std::string& name);

}  // namespace examples
