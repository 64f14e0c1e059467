#include "systole/keras/functions/metric.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/suggest.h"
#include "systole/keras/base/rule_config.h"

namespace systole::keras {
namespace {

MetricFn metric_function(const MetricDef& def, RuleValues arguments) {
  return [&def, arguments = std::move(arguments)](const Output& t, const Output& p) {
    return def.keras_value(arguments, t, p);
  };
}

std::map<std::string, MetricFn>& metric_table() {
  static std::map<std::string, MetricFn> functions = [] {
    std::map<std::string, MetricFn> made;
    for (const MetricDef* def : all_metric_defs()) {
      if (def->keras_name.empty()) continue;
      made[std::string(def->keras_name)] = metric_function(*def, usual_values(def->arguments));
    }
    return made;
  }();
  return functions;
}

std::string metric_class_of(const MetricDef& def) {
  return def.keras_class.empty() ? camel_case(def.keras_name) : std::string(def.keras_class);
}

constexpr const char* kMeanClass = "MeanMetricWrapper";

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

Json class_json(const std::string& class_name, Json config) {
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

MetricSpec::MetricSpec(const MetricDef& def, const RuleValues& arguments)
    : name_(def.keras_name),
      function_(metric_function(def, arguments)),
      def_(&def),
      arguments_(arguments) {}

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
    return {"acc", metric_table().at(by_kind(kind, "binary_accuracy", "categorical_accuracy",
                                             "sparse_categorical_accuracy"))};
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

Json metric_to_json(const MetricSpec& metric) {
  if (const MetricDef* const def = metric.def()) {
    Json config = config_of(def->arguments, metric.arguments());
    const bool usual = config == config_of(def->arguments, usual_values(def->arguments));
    if (usual && !metric.is_running()) return metric.name();
    Json named = {{"name", metric.name()}};
    named.update(config);
    return class_json(metric_class_of(*def), std::move(named));
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
    for (const MetricDef* def : all_metric_defs()) {
      if (def->keras_name.empty() || class_name != metric_class_of(*def)) continue;
      const MetricSpec metric(*def, values_from_config(def->arguments, config));
      return def->keras_object_is_total ? metric.running(config.value("name", metric.name()))
                                        : metric;
    }
    if (class_name == kMeanClass && config.contains("fn") && config.at("fn") == config.at("name")) {
      const auto name = config.at("fn").get<std::string>();
      return MetricSpec(name).running(name);
    }
  } catch (const Json::exception&) {
    throw invalid_argument("metric {}: arguments, got {}, expected a name and numbers", class_name,
                           config.dump());
  }
  return {};
}

namespace metrics {

MetricSpec Mean(std::string name, MetricFn function) {
  return MetricSpec(name, std::move(function)).running(name);
}

}  // namespace metrics

std::vector<std::string> metric_names() {
  std::vector<std::string> names = loss_names();
  for (const auto& [name, function] : metric_table()) names.push_back(name);
  for (const char* name : {"accuracy", "acc", "crossentropy", "ce"}) names.emplace_back(name);
  return names;
}

}  // namespace systole::keras
