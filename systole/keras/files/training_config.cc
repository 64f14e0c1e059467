#include "systole/keras/files/training_config.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/models/config_upgrade.h"

namespace systole::keras {
namespace {

Json loss_json(const LossSpec& loss) {
  if (!loss) return nullptr;
  if (loss.name().empty()) {
    throw unimplemented(
        "loss: a function without a name cannot be saved, expected one that register_loss() named, "
        "or saving with include_optimizer = false");
  }
  return loss.name();
}

Json number_json(double value) { return value; }

// One value, a list, or a dict by the outputs' names; null for none.
template <class T, class F>
Json per_output_json(const PerOutput<T>& values, F&& to_json) {
  if (values.empty()) return nullptr;
  if (values.is_one()) return to_json(values.list().at(0));
  Json json = values.named().empty() ? Json::array() : Json::object();
  for (const T& value : values.list()) json.push_back(to_json(value));
  for (const auto& [name, value] : values.named()) json[name] = to_json(value);
  return json;
}

template <class T, class F>
PerOutput<T> per_output_from(const Json& json, F&& from_json) {
  if (json.is_null()) return {};
  if (json.is_array()) {
    std::vector<T> list;
    for (const Json& item : json) list.push_back(from_json(item));
    return list;
  }
  if (json.is_object() && !json.contains("class_name")) {
    std::map<std::string, T> named;
    for (const auto& [name, value] : json.items()) named.emplace(name, from_json(value));
    return named;
  }
  return from_json(json);
}

// "sum_of_weights", the default and Keras's, is left out.
constexpr const char* kWeightRule = "weight_rule";
constexpr const char* kCountOfWeighted = "count_of_weighted";

Json mode_json(const std::string& mode) { return mode.empty() ? Json(nullptr) : Json(mode); }
std::string mode_from(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

Json metrics_json(const std::vector<MetricSpec>& metrics) {
  Json names = Json::array();
  for (const MetricSpec& metric : metrics) names.push_back(metric_to_json(metric));
  return names;
}

// Of a list, also TensorFlow 2's list of a list for each output.
void add_metrics(const Json& json, std::vector<MetricSpec>& metrics) {
  if (json.is_null()) return;
  if (!json.is_array()) {
    std::optional<MetricSpec> of_class = metric_from_class(json);
    metrics.push_back(of_class ? *std::move(of_class)
                               : MetricSpec(function_name_from_config(json)));
    return;
  }
  for (const Json& item : json) add_metrics(item, metrics);
}

LossSpec loss_from(const Json& json) {
  return json.is_null() ? LossSpec() : LossSpec(function_name_from_config(json));
}

}  // namespace

Json training_config_of(const CompileOptions& options, const std::vector<std::string>& outputs) {
  Json metrics = metrics_json(options.metrics);
  if (!options.output_metrics.empty()) {
    const Json of_all = std::move(metrics);
    metrics = Json::object();
    for (const std::string& output : outputs) metrics[output] = of_all;
    for (const auto& [output, of_output] : options.output_metrics) {
      for (Json& metric : metrics_json(of_output)) metrics[output].push_back(std::move(metric));
    }
  }
  Json config = {
      {"optimizer_config",
       {{"class_name", options.optimizer->class_name()}, {"config", options.optimizer->config()}}},
      {"loss", per_output_json(options.loss, loss_json)},
      {"metrics", std::move(metrics)},
      {"weighted_metrics",
       options.weighted_metrics.empty() ? Json(nullptr) : metrics_json(options.weighted_metrics)},
      {"sample_weight_mode", per_output_json(options.sample_weight_mode, mode_json)},
      {"loss_weights", per_output_json(options.loss_weights, number_json)}};
  if (options.weight_rule == WeightRule::count_of_weighted) config[kWeightRule] = kCountOfWeighted;
  return config;
}

CompileOptions compile_options_from(const Json& config) {
  CompileOptions options;
  try {
    options.optimizer =
        optimizer_from_json(upgrade_optimizer_config(config.at("optimizer_config")));
    options.loss = per_output_from<LossSpec>(config.value("loss", Json()), loss_from);
    const Json metrics = config.value("metrics", Json());
    if (metrics.is_object() && !metrics.contains("class_name")) {
      for (const auto& [output, of_output] : metrics.items()) {
        add_metrics(of_output, options.output_metrics[output]);
      }
    } else {
      add_metrics(metrics, options.metrics);
    }
    add_metrics(config.value("weighted_metrics", Json()), options.weighted_metrics);
    options.loss_weights = per_output_from<double>(
        config.value("loss_weights", Json()), [](const Json& json) { return json.get<double>(); });
    options.sample_weight_mode =
        per_output_from<std::string>(config.value("sample_weight_mode", Json()), mode_from);
    if (config.value(kWeightRule, Json()) == Json(kCountOfWeighted)) {
      options.weight_rule = WeightRule::count_of_weighted;
    }
  } catch (const nlohmann::json::exception& error) {
    throw invalid_argument("training_config: got a configuration that is not Keras's ({})",
                           error.what());
  }
  return options;
}

}  // namespace systole::keras
