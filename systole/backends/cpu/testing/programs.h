// Whole programs for tests and measurements.
#pragma once

#include <cstdint>
#include <memory>

#include "systole/hlo/ir/builder.h"

namespace systole::cpu::testing {

// One step of gradient descent on a network of two layers: main(x[batch,inputs], y[batch,classes],
// w1, w2) -> (w1', w2', loss), where w1' and w2' replace w1 and w2.
struct TwoLayers {
  int64_t batch = 1;
  int64_t inputs = 5;
  int64_t hidden = 256;
  int64_t classes = 3;
  double rate = 0.01;
};
std::unique_ptr<hlo::Module> training_step(const TwoLayers& shape);

// How many random programs a test compares: $SYSTOLE_RANDOM_PROGRAMS, for `make stress`, or
// `otherwise`.
uint64_t number_of_programs(uint64_t otherwise);

}  // namespace systole::cpu::testing
