// Finds what in a batch causes a loss that is not finite.
#pragma once

#include <string>

#include "systole/data/feed/step_feed.h"

namespace systole::train {

struct TrainStep;

// Looks for elements of the inputs that are not finite, and for labels of a sparse softmax cross
// entropy that are no class. Returns a clause for an error message: "features['x'] has nan at
// [0,1] of replica 5 in step 3 of the launch"; "" when the batches look well.
std::string diagnose_batch(const TrainStep& step, const data::StackedSteps& batches);

}  // namespace systole::train
