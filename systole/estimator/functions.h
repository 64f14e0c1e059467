// The functions that users write: model_fn and input_fn.
#pragma once

#include <functional>
#include <utility>

#include "systole/data/dataset.h"
#include "systole/estimator/mode.h"
#include "systole/estimator/params.h"
#include "systole/estimator/spec.h"

namespace systole {

// Builds the model of one replica in the current graph, from its part of a batch. `labels` is empty
// if the input has none. params: the user's, "batch_size" (of a replica), "use_tpu", and with a TPU
// "context", a TPUContext.
using ModelFn = std::function<TPUEstimatorSpec(
    const Nest<Output>& features, const Nest<Output>& labels, Mode mode, const Params& params)>;

// What an input_fn returns: a data set whose elements are (features, labels) or features alone; or
// the features and labels that an iterator's get_next() returned, as tensors.
class InputFnResult {
 public:
  InputFnResult(Dataset dataset) : dataset_(std::move(dataset)) {}  // NOLINT
  InputFnResult(Nest<Output> features)                              // NOLINT
      : features_(std::move(features)) {}
  InputFnResult(Nest<Output> features, Nest<Output> labels)
      : features_(std::move(features)), labels_(std::move(labels)) {}
  InputFnResult(std::pair<Output, Output> features_and_labels)  // NOLINT
      : features_(features_and_labels.first), labels_(features_and_labels.second) {}

  // A data set of (features, labels), or of features. Errors: those of dataset_of().
  Dataset dataset() const;

 private:
  Dataset dataset_;
  Nest<Output> features_;
  Nest<Output> labels_;
};
// params: the user's, "batch_size" according to the InputPipelineConfig, and with a TPU "context",
// a TPUContext. Called once by each train(), evaluate() and predict(); with PER_SHARD_V1 once for
// each replica.
using InputFn = std::function<InputFnResult(const Params& params)>;

}  // namespace systole
