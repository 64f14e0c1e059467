// Which examples of a batch are real. Evaluation fills the last batch up; losses and metrics give
// what was filled in no weight.
#pragma once

#include <optional>

#include "systole/graph/api/variable.h"

namespace systole {

// Says that row i of a batch of the current graph counts mask[i] times: 1 or 0. mask: f32[batch].
void set_example_mask(const Output& mask);
// Nothing when all examples count.
std::optional<Output> example_mask();

// `weights`, which broadcast to `values`, times the mask where the first axis of `values` is that
// of the batch, or the batch and further axes made one ([batch * steps]). Other values, such as a
// mean over the batch taken by the model, count as they are. f32.
Output masked_weights(const Output& values, const Input& weights);

}  // namespace systole
