#include "systole/keras/files/training_config.h"

#include <algorithm>
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
  return loss_to_json(loss);
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
// Whether the optimizer is lazy; written only where it matters.
constexpr const char* kLazyRows = "lazy_rows";
constexpr const char* kLazy = "lazy";
// The key of the losses hinge and squared_hinge that says whether targets of 0 and 1 stand for -1
// and 1.
constexpr const char* kBinaryHingeLabels = "binary_labels";

Json mode_json(const std::string& mode) { return mode.empty() ? Json(nullptr) : Json(mode); }
std::string mode_from(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

Json metrics_json(const std::vector<MetricSpec>& metrics) {
  Json names = Json::array();
  for (const MetricSpec& metric : metrics) names.push_back(metric_to_json(metric));
  return names;
}

// A metric of an output of this name. TensorFlow 2 wraps metrics that were given by name:
// {"class_name": "MeanMetricWrapper", "config": {"name": "out_accuracy", "fn":
// "binary_accuracy"}}.
MetricSpec metric_from(const Json& json, const std::string& output) {
  if (std::optional<MetricSpec> of_class = metric_from_class(json)) return *std::move(of_class);
  const Json config = json.is_object() ? json.value("config", Json()) : Json();
  if (config.is_object() && config.value("name", Json()).is_string() &&
      config.value("fn", Json()).is_string()) {
    auto name = config["name"].get<std::string>();
    if (!output.empty() && name.starts_with(output + "_")) name.erase(0, output.size() + 1);
    const bool by_shape =
        name == "accuracy" || name == "acc" || name == "crossentropy" || name == "ce";
    return by_shape ? MetricSpec(name) : MetricSpec(config["fn"].get<std::string>());
  }
  return MetricSpec(function_name_from_config(json));
}

void add_metrics(const Json& json, const std::string& output, std::vector<MetricSpec>& metrics) {
  if (json.is_null()) return;
  if (!json.is_array()) {
    metrics.push_back(metric_from(json, output));
    return;
  }
  for (const Json& item : json) add_metrics(item, output, metrics);
}

// Metrics of all outputs, or of each: a dict, or TensorFlow 2's list of a list for each output.
void read_metrics(const Json& json, std::string_view version,
                  const std::vector<std::string>& outputs, CompileOptions& options) {
  if (json.is_object() && !json.contains("class_name")) {
    for (const auto& [output, of_output] : json.items()) {
      add_metrics(of_output, output, options.output_metrics[output]);
    }
    return;
  }
  const bool of_each = json.is_array() && json.size() == outputs.size() && outputs.size() > 1 &&
                       (is_version(version, 3) || std::ranges::any_of(json, [](const Json& item) {
                          return item.is_array();
                        }));
  if (!of_each) {
    add_metrics(json, outputs.size() == 1 ? outputs[0] : "", options.metrics);
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<MetricSpec> of_output;
    add_metrics(json[i], outputs[i], of_output);
    if (!of_output.empty()) options.output_metrics[outputs[i]] = std::move(of_output);
  }
}

bool is_hinge(const std::string& name) { return name == "hinge" || name == "squared_hinge"; }

// `binary_labels`: of the hinge losses.
LossSpec loss_from(const Json& json, bool binary_labels) {
  const LossSpec loss = loss_from_json(json);
  if (!binary_labels || !is_hinge(loss.name()) || !loss.arguments().empty()) return loss;
  return loss_from_json({{"class_name", loss.name() == "hinge" ? "Hinge" : "SquaredHinge"},
                         {"config", {{kBinaryHingeLabels, true}}}});
}

// Whether losses take targets of 0 and 1 for -1 and 1; nullopt where there is no hinge loss.
std::optional<bool> binary_labels_of(const PerOutput<LossSpec>& losses) {
  std::optional<bool> binary;
  const auto see = [&](const LossSpec& loss) {
    if (is_hinge(loss.name())) binary = !loss.arguments().empty();
  };
  for (const LossSpec& loss : losses.list()) see(loss);
  for (const auto& [output, loss] : losses.named()) see(loss);
  return binary;
}

Json file_loss_json(const LossSpec& loss) {
  return is_hinge(loss.name()) ? Json(loss.name()) : loss_json(loss);
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
  const Json optimizer_config = options.optimizer->config();
  Json config = {
      {"optimizer_config",
       optimizer_config_for_files(
           {{"class_name", options.optimizer->class_name()}, {"config", optimizer_config}})},
      {"loss", per_output_json(options.loss, file_loss_json)},
      {"metrics", std::move(metrics)},
      {"weighted_metrics",
       options.weighted_metrics.empty() ? Json(nullptr) : metrics_json(options.weighted_metrics)},
      {"sample_weight_mode", per_output_json(options.sample_weight_mode, mode_json)},
      {"loss_weights", per_output_json(options.loss_weights, number_json)}};
  if (options.weight_rule == WeightRule::count_of_weighted) config[kWeightRule] = kCountOfWeighted;
  if (optimizer_config.contains(kLazy)) {
    config[kLazyRows] = true;
    config["optimizer_config"]["config"].erase(kLazy);
  }
  if (const auto binary = binary_labels_of(options.loss)) config[kBinaryHingeLabels] = *binary;
  return config;
}

CompileOptions compile_options_from(const Json& config, std::string_view keras_version,
                                    const std::vector<std::string>& outputs) {
  CompileOptions options;
  try {
    Json optimizer = upgrade_optimizer_config(config.at("optimizer_config"), keras_version);
    if (config.contains(kLazyRows)) optimizer["config"][kLazy] = config[kLazyRows];
    options.optimizer = optimizer_from_json(optimizer);
    const bool binary_labels = config.value(kBinaryHingeLabels, is_version(keras_version, 2, 3));
    options.loss = per_output_from<LossSpec>(config.value("loss", Json()), [&](const Json& json) {
      return loss_from(json, binary_labels);
    });
    read_metrics(config.value("metrics", Json()), keras_version, outputs, options);
    add_metrics(config.value("weighted_metrics", Json()), "", options.weighted_metrics);
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

namespace {

// Names of losses that are other ones in Keras 3.
std::string keras3_loss_name(const std::string& name) {
  if (name == "cosine_proximity") return "cosine_similarity";
  return name == "logcosh" ? "log_cosh" : name;
}

// {"class_name", "config"} as an object of `module`.
Json keras3_object(const char* module, Json object) {
  if (!object.is_object()) return object;
  return {{"module", module},
          {"class_name", object.at("class_name")},
          {"config", object.value("config", Json::object())},
          {"registered_name", nullptr}};
}

Json keras3_loss_json(const LossSpec& loss) {
  const Json json = file_loss_json(loss);
  if (json.is_string()) return keras3_loss_name(json.get<std::string>());
  return keras3_object("keras.losses", json);
}

Json keras3_metrics_json(const std::vector<MetricSpec>& metrics) {
  Json all = Json::array();
  for (Json& metric : metrics_json(metrics)) {
    all.push_back(metric.is_string() ? Json(keras3_loss_name(metric.get<std::string>()))
                                     : keras3_object("keras.metrics", std::move(metric)));
  }
  return all;
}

// Keras 3 wants a list for each of several outputs.
Json keras3_metrics_of_outputs(const CompileOptions& options,
                               const std::vector<std::string>& outputs) {
  if (outputs.size() == 1 && options.output_metrics.empty()) {
    return keras3_metrics_json(options.metrics);
  }
  Json all = Json::array();
  for (const std::string& output : outputs) {
    std::vector<MetricSpec> of_output = options.metrics;
    if (const auto it = options.output_metrics.find(output); it != options.output_metrics.end()) {
      of_output.insert(of_output.end(), it->second.begin(), it->second.end());
    }
    all.push_back(keras3_metrics_json(of_output));
  }
  return all;
}

// A value for each output, in order: a dict as a list.
template <class T, class F>
Json keras3_per_output(const PerOutput<T>& values, const std::vector<std::string>& outputs,
                       F&& to_json) {
  if (values.empty()) return nullptr;
  if (values.is_one() && outputs.size() == 1) return to_json(values.list().at(0));
  Json all = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::optional<T> value = values.of(i, outputs.size(), outputs[i]);
    all.push_back(value ? to_json(*value) : Json());
  }
  return all;
}

}  // namespace

Json keras3_compile_config_of(const CompileOptions& options,
                              const std::vector<std::string>& outputs) {
  const Json weighted = keras3_metrics_json(options.weighted_metrics);
  return {
      {"optimizer", optimizer_config_for_keras3({{"class_name", options.optimizer->class_name()},
                                                 {"config", options.optimizer->config()}})},
      {"loss", keras3_per_output(options.loss, outputs, keras3_loss_json)},
      {"loss_weights", keras3_per_output(options.loss_weights, outputs, number_json)},
      {"metrics", keras3_metrics_of_outputs(options, outputs)},
      {"weighted_metrics", weighted.empty() ? Json() : weighted},
      {"run_eagerly", false},
      {"steps_per_execution", 1},
      {"jit_compile", false}};
}

Json training_config_from_keras3(const Json& compile_config) {
  if (!compile_config.is_object() || !compile_config.contains("optimizer") ||
      compile_config["optimizer"].is_null()) {
    return nullptr;
  }
  Json config = {{"optimizer_config", compile_config["optimizer"]}};
  for (const char* key : {"loss", "metrics", "weighted_metrics", "loss_weights"}) {
    config[key] = compile_config.value(key, Json());
  }
  return config;
}

}  // namespace systole::keras
