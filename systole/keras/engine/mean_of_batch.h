// Means over a batch, which is what losses of a whole batch are.
#pragma once

#include "systole/graph/core/graph.h"

namespace systole::keras {

// The values whose mean `mean` is, where it is a scalar that reduce_mean made of all elements of a
// tensor with `batch` examples (-1: unknown): K.mean(x). Then examples that pad a batch can be left
// out of it, and sample weights can count. An invalid Output for any other.
Output elements_of_mean(const Output& mean, int64_t batch);

}  // namespace systole::keras
