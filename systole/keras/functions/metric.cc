#include "systole/keras/functions/metric.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
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

constexpr int64_t kDefaultTopK = 5;

struct TopKAccuracy {
  int64_t k = kDefaultTopK;
  bool sparse = false;

  Output operator()(const Output& t, const Output& p) const {
    const Output labels = sparse ? cast(sparse_labels(t, p), DType::s64) : argmax(t, {.axis = -1});
    const Output chosen = one_hot(labels, p.shape()[p.shape().rank() - 1]);
    return in_top_k(reduce_sum(chosen * p, {.axis = -1}), p, k);
  }
};

std::map<std::string, MetricFn>& metric_table() {
  static std::map<std::string, MetricFn> functions = {
      {"binary_accuracy", binary_accuracy},
      {"categorical_accuracy", categorical_accuracy},
      {"sparse_categorical_accuracy", sparse_categorical_accuracy},
      {"top_k_categorical_accuracy", TopKAccuracy{.sparse = false}},
      {"sparse_top_k_categorical_accuracy", TopKAccuracy{.sparse = true}},
  };
  return functions;
}

using MetricFunction = Output (*)(const Output&, const Output&);
using MakeMetric = MetricSpec (*)(std::string name);

// Classes of metrics as objects, with what they average.
struct MetricClass {
  const char* name;
  const char* default_name;
  MetricFunction function;
  MakeMetric make;
};
constexpr MetricClass kMetricClasses[] = {
    {"BinaryAccuracy", "binary_accuracy", binary_accuracy, metrics::BinaryAccuracy},
    {"CategoricalAccuracy", "categorical_accuracy", categorical_accuracy,
     metrics::CategoricalAccuracy},
    {"SparseCategoricalAccuracy", "sparse_categorical_accuracy", sparse_categorical_accuracy,
     metrics::SparseCategoricalAccuracy},
};
constexpr const char* kMeanClass = "MeanMetricWrapper";
constexpr const char* kTopKClass = "TopKCategoricalAccuracy";
constexpr const char* kSparseTopKClass = "SparseTopKCategoricalAccuracy";

// A registered function of the name is taken for the metric's own if both have one type: functions
// themselves cannot be compared.
void warn_of_unknown_function(const MetricSpec& metric) {
  if (!metric.has_function()) return;
  const auto it = metric_table().find(metric.name());
  if (it != metric_table().end() && it->second.target_type() == metric.function().target_type()) {
    return;
  }
  log_once(LogLevel::warning,
           "metric '{}': a function is saved by its name only; register_metric() must name it "
           "before the file is loaded, or load_model must not compile: {{.compile = false}}",
           metric.name());
}

Json class_json(const char* class_name, Json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
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
  return {"top_k_categorical_accuracy", TopKAccuracy{.k = k, .sparse = false}};
}
MetricSpec sparse_top_k_categorical_accuracy(int64_t k) {
  return {"sparse_top_k_categorical_accuracy", TopKAccuracy{.k = k, .sparse = true}};
}

Json metric_to_json(const MetricSpec& metric) {
  if (const auto* const top = metric.function().target<TopKAccuracy>()) {
    if (top->k == kDefaultTopK) return metric.name();
    return class_json(top->sparse ? kSparseTopKClass : kTopKClass,
                      {{"name", metric.name()}, {"k", top->k}});
  }
  if (metric.is_running()) {
    const auto* const function = metric.function().target<MetricFunction>();
    for (const MetricClass& known : kMetricClasses) {
      if (function != nullptr && *function == known.function) {
        return class_json(known.name, {{"name", metric.name()}});
      }
    }
  }
  warn_of_unknown_function(metric);
  if (!metric.is_running()) return metric.name();
  return class_json(kMeanClass, {{"name", metric.name()}, {"fn", metric.name()}});
}

std::optional<MetricSpec> metric_from_class(const Json& json) {
  if (!json.is_object() || !json.contains("class_name") || !json.contains("config")) return {};
  const Json& config = json.at("config");
  if (!json.at("class_name").is_string() || !config.is_object()) return {};
  const auto class_name = json.at("class_name").get<std::string>();
  try {
    for (const MetricClass& known : kMetricClasses) {
      if (class_name == known.name)
        return known.make(config.value("name", std::string(known.default_name)));
    }
    if (class_name == kTopKClass)
      return top_k_categorical_accuracy(config.value("k", kDefaultTopK));
    if (class_name == kSparseTopKClass) {
      return sparse_top_k_categorical_accuracy(config.value("k", kDefaultTopK));
    }
    if (class_name == kMeanClass && config.contains("fn") && config.at("fn") == config.at("name")) {
      return MetricSpec(config.at("fn").get<std::string>()).running();
    }
  } catch (const Json::exception&) {
    throw invalid_argument("metric {}: arguments, got {}, expected a name and numbers", class_name,
                           config.dump());
  }
  return {};
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
