// Squared errors of the differences between all pairs of elements of an example.
#pragma once

#include "systole/graph/functions/math_functions.h"
#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct MeanPairwiseSquaredErrorOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace rules {

struct MeanPairwiseSquaredError : LossRule {
  using Options = losses::MeanPairwiseSquaredErrorOptions;

  // An example has as many elements as weights that are not 0.
  static Output weighted_value(const Output& labels, const Output& predictions,
                               const Output& weights) {
    const Output errors = predictions - labels;
    std::vector<int64_t> axes;
    for (int axis = 1; axis < errors.shape().rank(); ++axis) axes.push_back(axis);
    const auto sum = [&](const Output& x) {
      return reduce_sum(x, {.axis = axes, .keepdims = true});
    };
    const Output present = sum(cast(not_equal(weights, 0), DType::f32) + zeros_like(errors));
    const Output squares = div_no_nan(sum(square(errors)), maximum(present - 1.0, 0));
    const Output products = div_no_nan(square(sum(errors)), maximum(present * (present - 1.0), 0));
    return reduce_sum((squares * 2.0 - products * 2.0) * weights);
  }

  static constexpr LossDef def{.name = "mean_pairwise_squared_error",
                               .weighted_value = weighted_value};
};

}  // namespace rules

namespace losses {
// The sum over the batch, for which weights are a scalar or [batch, 1, ..].
// (tf.losses.mean_pairwise_squared_error)
inline constexpr LossFunction<rules::MeanPairwiseSquaredError> mean_pairwise_squared_error;
}  // namespace losses

}  // namespace systole
