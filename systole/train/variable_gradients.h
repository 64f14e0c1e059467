// Gradients with respect to variables, for programs that clip them:
//
//   auto tvars = st::trainable_variables();
//   auto [grads, norm] = st::clip_by_global_norm(st::gradients({cost}, tvars), 5.0F);
//   auto train_op = optimizer.apply_gradients(st::zip(grads, tvars));
#pragma once

#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/train/optimizer.h"

namespace systole {

// Returns d(sum of ys)/d(variable) over all reads of each variable; an invalid Output for a
// variable on which no y depends. (tf.gradients)
std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Variable>& xs,
                              const GradientsOptions& options = {});

// Returns pairs for apply_gradients(). Errors: INVALID_ARGUMENT for lists of different lengths,
// where Python's zip drops the rest.
std::vector<GradientAndVariable> zip(const std::vector<Output>& gradients,
                                     const std::vector<Variable>& variables);

}  // namespace systole
