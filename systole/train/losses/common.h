// Helpers of losses.
#pragma once

#include <string_view>

#include "systole/graph/api/composition.h"
#include "systole/graph/api/op_error.h"
#include "systole/train/losses.h"

namespace systole::losses {

struct Pair {
  Output labels;
  Output predictions;
};
// Converts both to f32. Errors: INVALID_ARGUMENT names the loss and both types.
Pair resolve_pair(std::string_view loss, const Input& labels, const Input& predictions);

// Errors: INVALID_ARGUMENT unless 0 <= smoothing <= 1.
void check_label_smoothing(std::string_view loss, const Input& at, double smoothing);

// compute_weighted_loss() with the weights, reduction and collection of `options`.
template <class Options>
Output weighted(const Output& losses, const Options& options) {
  return compute_weighted_loss(losses, {.weights = options.weights,
                                        .reduction = options.reduction,
                                        .loss_collection = options.loss_collection});
}

}  // namespace systole::losses
