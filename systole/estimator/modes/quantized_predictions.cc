#include "systole/estimator/modes/quantized_predictions.h"

#include "systole/base/log.h"
#include "systole/runtime/registry.h"
#include "systole/train/inference_program.h"

namespace systole::estimator {
namespace {

// A stack [replicas, 1, batch, ...] without its first dimensions: [replicas * batch, ...].
Tensor rows_of_step(const Tensor& stack) {
  Dims dims(stack.shape().begin() + 2, stack.shape().end());
  dims[0] *= stack.dim(0) * stack.dim(1);
  return stack.reshape(Shape(std::move(dims)));
}

std::vector<TensorType> feature_types(const data::StackedSteps& step, size_t count) {
  if (step.types.size() < count) {
    throw invalid_argument("calibration_input_fn: tensors of a batch, got {}, expected {} features",
                           step.types.size(), count);
  }
  return {step.types.begin(), step.types.begin() + static_cast<std::ptrdiff_t>(count)};
}

struct CalibrationData {
  std::vector<TensorType> types;  // of the features of one batch
  std::vector<std::vector<Tensor>> batches;
};

CalibrationData read_calibration(const Input& input, size_t features, int64_t most) {
  CalibrationData data;
  data::StepFeed feed(step_source(input, /*pad=*/false),
                      data::StackOptions{.max_steps = 1, .fixed = false});
  while (std::ssize(data.batches) < most) {
    const std::optional<data::StackedSteps> step = feed.next(1, 1);
    if (!step) break;
    std::vector<TensorType> types = feature_types(*step, features);
    if (data.types.empty()) data.types = std::move(types);
    if (feature_types(*step, features) != data.types) break;  // a smaller batch ends the input
    std::vector<Tensor> rows;
    for (size_t i = 0; i < features; ++i) rows.push_back(rows_of_step(step->stacks[i]).clone());
    for (std::vector<Tensor>& batch :
         quantize::batches_of(rows, data.types[0].shape[0], input.replicas)) {
      if (std::ssize(data.batches) < most) data.batches.push_back(std::move(batch));
    }
  }
  if (data.batches.empty()) {
    throw invalid_argument("calibration_input_fn: batches, got none, expected some");
  }
  return data;
}

}  // namespace

QuantizedPredictions::QuantizedPredictions(const BuiltModel& built, const Input& predicted,
                                           std::span<const Output> fetches,
                                           const Input& calibration,
                                           const QuantizedPredictOptions& options)
    : num_features_(predicted.features.flatten().size()) {
  if (num_features_ == 0) {
    throw invalid_argument("quantized predictions: features, got none, expected some");
  }
  const CalibrationData data = read_calibration(calibration, num_features_, options.batches);
  std::vector<Feed> feeds;
  for (size_t i = 0; i < num_features_; ++i) {
    const Output& input = built.model.inputs[i];
    if (input.dtype() != data.types[i].dtype ||
        !input.shape().compatible_with(data.types[i].shape)) {
      throw invalid_argument("calibration_input_fn: {}, got {}, expected {}",
                             built.model.input_names[i], data.types[i], input.type());
    }
    feeds.push_back({input, data.types[i]});
  }
  const quantize::Quantized quantized = quantize::quantize(
      *inference_program(*built.session, fetches, feeds), data.batches, options.quantization);
  log_info("predict: quantized the model for {}\n{}", options.device, quantized.report.to_string());
  program_ =
      std::make_unique<runtime::BatchedProgram>(runtime::client(options.device), *quantized.module);
}

std::span<const Tensor> QuantizedPredictions::run(const data::StackedSteps& step) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < num_features_; ++i) inputs.push_back(rows_of_step(step.stacks[i]));
  const int64_t replicas = step.stacks[0].dim(0);
  results_.clear();
  for (const Tensor& rows : program_->run(inputs)) {
    Dims dims = {replicas, rows.dim(0) / replicas};
    dims.insert(dims.end(), rows.shape().begin() + 1, rows.shape().end());
    results_.push_back(rows.reshape(Shape(std::move(dims))));
  }
  return results_;
}

}  // namespace systole::estimator
