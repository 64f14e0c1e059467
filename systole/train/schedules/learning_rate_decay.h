// Learning rate schedules: scalar tensors computed from the global step. They stand in a header
// each. (tf.train.exponential_decay and others)
//
// For every schedule: `global_step` is a non-negative integer scalar; the result is a scalar of the
// learning rate's dtype (f32 for a literal). Schedules are computed on the device, so each step of
// a launch has its own rate. Errors: INVALID_ARGUMENT with the user's line unless the learning rate
// and the decay rate are 0 or more, and decay_steps is above 0, where these are known numbers.
#pragma once

#include "systole/train/schedules/all.h"  // IWYU pragma: export
