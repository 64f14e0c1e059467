// Predictions of a model by 8-bit integers. Internal to the estimator.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "systole/data/feed/step_feed.h"
#include "systole/estimator/impl.h"
#include "systole/runtime/batched_program.h"

namespace systole::estimator {

// A model, quantized with the values of its variables at construction. Used by one thread.
class QuantizedPredictions {
 public:
  // `built` has its variables; `fetches` have the batch as their first dimension. Reads batches of
  // `calibration`, whose labels it ignores. Errors: INVALID_ARGUMENT for features of other types
  // than the model's, and for an input without a full batch; those of inference_program(),
  // quantize::quantize() and the device's compiler.
  QuantizedPredictions(const BuiltModel& built, const Input& predicted,
                       std::span<const Output> fetches, const Input& calibration,
                       const QuantizedPredictOptions& options);

  // As train::StepRunner::run() of one step: [replicas, batch, ...] for each fetch, valid until the
  // next call.
  std::span<const Tensor> run(const data::StackedSteps& step);

 private:
  size_t num_features_ = 0;
  std::unique_ptr<runtime::BatchedProgram> program_;
  std::vector<Tensor> results_;
};

}  // namespace systole::estimator
