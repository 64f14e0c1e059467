// Keras models for TPUEstimator. (tf.keras.estimator.model_to_estimator)
//
//   st::TPUEstimator estimator = st::keras::estimator::model_to_estimator(
//       model, {.model_dir = "run", .train_batch_size = 1024});
//   estimator.train(input_fn, {.max_steps = 1000});
#pragma once

#include <optional>
#include <string>

#include "systole/estimator/estimator.h"
#include "systole/keras/models/model.h"

namespace systole::keras::estimator {

struct ModelToEstimatorOptions {
  std::string model_dir = {};  // empty: config.model_dir
  RunConfig config = {};
  Params params = {};
  bool use_tpu = true;
  std::optional<int64_t> train_batch_size = std::nullopt;
  std::optional<int64_t> eval_batch_size = std::nullopt;
  std::optional<int64_t> predict_batch_size = std::nullopt;
};

// A TPUEstimator with the layers, loss, metrics and optimizer of a compiled model. Training starts
// from the model's weights and from its optimizer's state, unless model_dir has a checkpoint; the
// model itself is not changed, and must not be used while the estimator trains.
//
// The input_fn gives features (one tensor, a tuple, or a dict by the names of inputs) and labels
// (the same for outputs). Predictions are a dict by the names of outputs; evaluations have the
// model's metrics by their names in History. Checkpoints hold variables under the names of layers:
// "dense/kernel", "optimizer/iterations".
//
// Errors: FAILED_PRECONDITION for a model that is not compiled; those of TPUEstimator.
TPUEstimator model_to_estimator(const Model& model, const ModelToEstimatorOptions& options = {});

}  // namespace systole::keras::estimator
