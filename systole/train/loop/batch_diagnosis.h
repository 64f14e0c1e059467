// Finds what in a batch causes a loss that is not finite.
#pragma once

#include <cstdint>
#include <string>

#include "systole/data/feed/step_feed.h"
#include "systole/train/loop/train_step.h"

namespace systole::train {

// Looks for elements of the inputs that are not finite, and for labels of a sparse softmax cross
// entropy that are no class. `first`: the step before these batches. Returns a clause for an error
// message: "the input has nan at [0,1] of features['x'] in step 3 on replica 5"; "" when the
// batches look well.
std::string diagnose_batch(const TrainStep& step, const data::StackedSteps& batches, int64_t first);

}  // namespace systole::train
