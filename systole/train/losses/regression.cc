#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/losses/common.h"

namespace systole::losses {

Output mean_squared_error(const PredictionLossOptions& options) {
  const CompositionScope scope(options.predictions, options.scope, "mean_squared_error");
  const auto [labels, predictions] =
      resolve_pair("mean_squared_error", options.labels, options.predictions);
  return weighted(squared_difference(predictions, labels), options);
}

Output absolute_difference(const PredictionLossOptions& options) {
  const CompositionScope scope(options.predictions, options.scope, "absolute_difference");
  const auto [labels, predictions] =
      resolve_pair("absolute_difference", options.labels, options.predictions);
  return weighted(abs(predictions - labels), options);
}

Output huber_loss(const HuberLossOptions& options) {
  const CompositionScope scope(options.predictions, options.scope, "huber_loss");
  const auto [labels, predictions] =
      resolve_pair("huber_loss", options.labels, options.predictions);
  const Output distance = abs(predictions - labels);
  // Quadratic up to delta, linear beyond.
  const Output near = minimum(distance, options.delta);
  const Output beyond = distance - near;
  return weighted(square(near) * 0.5 + beyond * options.delta, options);
}

Output log_loss(const LogLossOptions& options) {
  const CompositionScope scope(options.predictions, options.scope, "log_loss");
  const auto [labels, predictions] = resolve_pair("log_loss", options.labels, options.predictions);
  const Output positive = labels * log(predictions + options.epsilon);
  const Output negative = (1.0 - labels) * log((1.0 - predictions) + options.epsilon);
  return weighted(-positive - negative, options);
}

Output hinge_loss(const HingeLossOptions& options) {
  const CompositionScope scope(options.logits, options.scope, "hinge_loss");
  const auto [labels, logits] = resolve_pair("hinge_loss", options.labels, options.logits);
  return weighted(relu(1.0 - (labels * 2.0 - 1.0) * logits), options);
}

Output cosine_distance(const CosineDistanceOptions& options) {
  const CompositionScope scope(options.predictions, options.scope, "cosine_distance_loss");
  const auto [labels, predictions] =
      resolve_pair("cosine_distance", options.labels, options.predictions);
  const Output similarity =
      reduce_sum(labels * predictions, {.axis = options.axis, .keepdims = true});
  return weighted(1.0 - similarity, options);
}

}  // namespace systole::losses
