// Marks which examples of a batch are real. Evaluation pads the last batch; losses and metrics give
// the padding weight 0.
#pragma once

#include <optional>

#include "systole/graph/core/variable.h"

namespace systole {

// Sets the mask of the current graph: mask[i] is 1 for a real example, 0 for padding. f32 [batch].
void set_example_mask(const Output& mask);
// Returns the mask of the current graph; nothing when all examples are real.
std::optional<Output> example_mask();

// Returns `weights` (broadcast to `values`) times the mask, f32, if the first axis of `values` is
// the batch, or the batch merged with further axes ([batch * steps]). Otherwise, as for a mean over
// the batch that the model took, returns the weights alone.
Output masked_weights(const Output& values, const Input& weights);

}  // namespace systole
