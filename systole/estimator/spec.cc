#include "systole/estimator/spec.h"

#include "systole/base/error.h"

namespace systole {

OutputList::OutputList(std::initializer_list<Input> inputs) {
  reserve(inputs.size());
  for (const Input& input : inputs) push_back(input.resolve());
}

EvalMetrics::NamedOutputs EvalMetrics::named(
    std::initializer_list<std::pair<std::string, Input>> tensors) {
  NamedOutputs outputs;
  for (const auto& [name, input] : tensors) outputs.emplace(name, input.resolve());
  return outputs;
}

Error EvalMetrics::wrong_count(size_t got, size_t takes) {
  return invalid_argument(
      "In TPUEstimatorSpec.eval_metrics, length of tensors {} does not match method args of the "
      "function, which takes {}.",
      got, takes);
}

void HostCallFunction::operator()(std::span<const Tensor> values, int64_t step) const {
  const auto placed = [&](Code code, std::string_view message) {
    return Error(code,
                 fmt::format("host_call: step {}: {}, at {}", step, message, where_.to_string()));
  };
  try {
    fn_(values);
  } catch (const Error& error) {
    throw placed(error.code(), error.message());
  } catch (const std::exception& error) {
    throw placed(Code::unknown, error.what());
  }
}

namespace {

bool is_scalar(const Shape& shape) { return shape.rank() == 0 || shape == Shape({1}); }

void check_loss(const Output& loss) {
  if (!loss.valid()) throw invalid_argument("Missing loss.");
  if (!is_floating(loss.dtype())) {
    throw invalid_argument("Loss must be floating, given: {} '{}' {}", loss.type(), loss.name(),
                           loss.node()->describe());
  }
  if (!is_scalar(loss.shape())) {
    throw invalid_argument("Loss must be scalar, given: {} '{}' {}", loss.type(), loss.name(),
                           loss.node()->describe());
  }
}

void check_predictions(const Nest<Output>& predictions) {
  if (predictions.empty()) throw invalid_argument("Missing predictions.");
  if (!predictions.is_dict() && !predictions.is_leaf()) {
    throw invalid_argument("TPUEstimatorSpec.predictions, got {}, expected a dict of tensors",
                           predictions.to_string());
  }
}

void check_metrics(const MetricMap& metrics) {
  for (const auto& [name, metric] : metrics) {
    if (!metric.value.valid() || !metric.update_op.valid()) {
      throw invalid_argument("eval metric '{}': value and update_op, got none, expected both",
                             name);
    }
    if (name == "loss" || name == "global_step") {
      throw invalid_argument(
          "Metric with name \"{}\" is not allowed, because Estimator already defines a default "
          "metric with the same name.",
          name);
    }
  }
}

}  // namespace

void TPUEstimatorSpec::validate() const {
  if (mode == Mode::predict) {
    check_predictions(predictions);
    return;
  }
  check_loss(loss);
  if (mode == Mode::train && !train_op.valid()) throw invalid_argument("Missing train_op.");
  check_metrics(eval_metric_ops);
}

}  // namespace systole
