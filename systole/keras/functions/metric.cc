#include "systole/keras/functions/metric.h"

#include <algorithm>
#include <map>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"

namespace systole::keras {
namespace {

Output binary_accuracy(const Output& t, const Output& p) {
  return reduce_mean(cast(equal(t, cast(greater(p, 0.5F), t.dtype())), DType::f32), {.axis = -1});
}

Output categorical_accuracy(const Output& t, const Output& p) {
  return cast(equal(argmax(t, {.axis = -1}), argmax(p, {.axis = -1})), DType::f32);
}

Output sparse_labels(const Output& t, const Output& p) {
  return t.shape().rank() == p.shape().rank() ? reduce_max(t, {.axis = -1}) : t;
}

Output sparse_categorical_accuracy(const Output& t, const Output& p) {
  const Output labels = cast(sparse_labels(t, p), DType::s64);
  return cast(equal(labels, cast(argmax(p, {.axis = -1}), DType::s64)), DType::f32);
}

// Whether the label's value is among the k largest.
Output in_top_k(const Output& label_value, const Output& p, int64_t k) {
  const Output larger =
      reduce_sum(cast(greater(p, expand_dims(label_value, -1)), DType::f32), {.axis = -1});
  return cast(less(larger, static_cast<double>(k)), DType::f32);
}

MetricFn top_k_accuracy(int64_t k, bool sparse) {
  return [k, sparse](const Output& t, const Output& p) {
    const Output labels = sparse ? cast(sparse_labels(t, p), DType::s64) : argmax(t, {.axis = -1});
    const Output chosen = one_hot(labels, p.shape()[p.shape().rank() - 1]);
    return in_top_k(reduce_sum(chosen * p, {.axis = -1}), p, k);
  };
}

std::map<std::string, MetricFn>& metric_table() {
  static std::map<std::string, MetricFn> functions = {
      {"binary_accuracy", binary_accuracy},
      {"categorical_accuracy", categorical_accuracy},
      {"sparse_categorical_accuracy", sparse_categorical_accuracy},
      {"top_k_categorical_accuracy", top_k_accuracy(5, /*sparse=*/false)},
      {"sparse_top_k_categorical_accuracy", top_k_accuracy(5, /*sparse=*/true)},
  };
  return functions;
}

bool is_loss(const std::string& name) {
  const std::vector<std::string> names = loss_names();
  return std::ranges::find(names, name) != names.end();
}

MetricFn loss_as_metric(const std::string& name) {
  const LossSpec loss(name);
  return [loss](const Output& t, const Output& p) { return loss(t, p); };
}

enum class AccuracyKind : uint8_t { binary, categorical, sparse };

AccuracyKind kind_by_output(const Shape& output, const Shape& target, const LossSpec& loss) {
  const auto last = [](const Shape& shape) { return shape.rank() == 0 ? 1 : shape[-1]; };
  if (last(output) == 1) return AccuracyKind::binary;
  if (loss.sparse() || target.rank() < output.rank()) return AccuracyKind::sparse;
  if (last(target) == 1) return AccuracyKind::sparse;
  return loss.name() == "binary_crossentropy" ? AccuracyKind::binary : AccuracyKind::categorical;
}

// Says what 'accuracy' means where users are known to expect something else.
void note_accuracy(AccuracyKind kind, const Shape& output, const LossSpec& loss) {
  if (kind == AccuracyKind::binary && output.rank() > 0 && output[-1] > 1) {
    log_once(LogLevel::info,
             "metric 'accuracy' of an output with {} columns and the loss binary_crossentropy is "
             "binary_accuracy, of each column by itself; for one class an example name "
             "'categorical_accuracy'",
             output[-1]);
  } else if (loss.name().empty()) {
    log_once(LogLevel::info, "metric 'accuracy' with a loss of your own is {}",
             kind == AccuracyKind::binary        ? "binary_accuracy"
             : kind == AccuracyKind::categorical ? "categorical_accuracy"
                                                 : "sparse_categorical_accuracy");
  }
}

template <class F>
F by_kind(AccuracyKind kind, F binary, F categorical, F sparse) {
  if (kind == AccuracyKind::binary) return binary;
  return kind == AccuracyKind::sparse ? sparse : categorical;
}

}  // namespace

MetricSpec::Resolved MetricSpec::resolve(const Shape& output, const Shape& target,
                                         const LossSpec& loss) const {
  Resolved resolved = resolve_function(output, target, loss);
  resolved.running = running_;
  return resolved;
}

MetricSpec::Resolved MetricSpec::resolve_function(const Shape& output, const Shape& target,
                                                  const LossSpec& loss) const {
  if (function_) return {name_, function_};
  const AccuracyKind kind = kind_by_output(output, target, loss);
  if (name_ == "accuracy" || name_ == "acc") {
    note_accuracy(kind, output, loss);
    return {"acc", by_kind<MetricFn>(kind, binary_accuracy, categorical_accuracy,
                                     sparse_categorical_accuracy)};
  }
  if (name_ == "crossentropy" || name_ == "ce") {
    return {"ce", loss_as_metric(by_kind<std::string>(kind, "binary_crossentropy",
                                                      "categorical_crossentropy",
                                                      "sparse_categorical_crossentropy"))};
  }
  if (const auto it = metric_table().find(name_); it != metric_table().end())
    return {name_, it->second};
  if (is_loss(name_)) return {LossSpec(name_).name(), loss_as_metric(name_)};
  throw not_found("Unknown metric function:{}{}", name_, did_you_mean(name_, metric_names()));
}

void register_metric(const std::string& name, MetricFn function) {
  if (!metric_table().emplace(name, std::move(function)).second) {
    throw make_error(Code::already_exists, "metric '{}' is registered already", name);
  }
}

MetricSpec top_k_categorical_accuracy(int64_t k) {
  return {"top_k_categorical_accuracy", top_k_accuracy(k, /*sparse=*/false)};
}
MetricSpec sparse_top_k_categorical_accuracy(int64_t k) {
  return {"sparse_top_k_categorical_accuracy", top_k_accuracy(k, /*sparse=*/true)};
}

namespace metrics {

MetricSpec BinaryAccuracy(std::string name) { return Mean(std::move(name), binary_accuracy); }
MetricSpec CategoricalAccuracy(std::string name) {
  return Mean(std::move(name), categorical_accuracy);
}
MetricSpec SparseCategoricalAccuracy(std::string name) {
  return Mean(std::move(name), sparse_categorical_accuracy);
}
MetricSpec Mean(std::string name, MetricFn function) {
  return MetricSpec(std::move(name), std::move(function)).running();
}

}  // namespace metrics

std::vector<std::string> metric_names() {
  std::vector<std::string> names = loss_names();
  for (const auto& [name, function] : metric_table()) names.push_back(name);
  for (const char* name : {"accuracy", "acc", "crossentropy", "ce"}) names.emplace_back(name);
  return names;
}

}  // namespace systole::keras
