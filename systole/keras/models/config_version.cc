#include "systole/keras/models/config_version.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/log.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/functions/activation.h"
#include "systole/keras/models/config_upgrade.h"

namespace systole::keras {
namespace {

constexpr std::string_view kMarkedVersion = "2.15.0";
constexpr const char* kActivityRegularizer = "activity_regularizer";

bool is_bilinear(const Json& layer, const Json& config) {
  return layer.value("class_name", Json()) == "UpSampling2D" &&
         config.value("interpolation", Json()) == "bilinear";
}

bool is_of_program(const Json& class_name) {
  try {
    return class_name.is_string() && find_layer_class(class_name.get<std::string>()).of_program;
  } catch (const Error&) {  // of another kind
    return false;
  }
}

bool has_activity_regularizer(const Json& layer, const Json& config) {
  if (layer.value("class_name", Json()) == "ActivityRegularization") return true;
  const auto it = config.find(kActivityRegularizer);
  return it != config.end() && !it->is_null() && !is_of_program(layer["class_name"]);
}

// Calls `visit(object, config)` for each {"class_name", "config"} in `json`.
template <class F>
void for_each_object(Json& json, F&& visit) {
  if (json.is_array()) {
    for (Json& item : json) for_each_object(item, visit);
    return;
  }
  if (!json.is_object()) return;
  if (json.contains("class_name") && json.contains("config") && json["config"].is_object()) {
    visit(json, json["config"]);
  }
  for (auto& [key, value] : json.items()) {
    if (value.is_structured()) for_each_object(value, visit);
  }
}

// Returns whether `config` had the mark.
bool take(Json& config, std::string_view mark) {
  const auto it = config.find(std::string(mark));
  if (it == config.end()) return false;
  const bool marked = it->is_boolean() && it->get<bool>();
  config.erase(it);
  return marked;
}

}  // namespace

void apply_keras_version(Json& config, std::string_view version) {
  const bool centers = is_version(version, 2, 3);
  const bool mean = is_version(version, 2, 2, 4);
  const bool keras3 = is_version(version, 3);
  if (!mean) return;
  for_each_object(config, [&](const Json& object, Json& arguments) {
    if (centers && is_bilinear(object, arguments)) arguments[std::string(kHalfPixelCenters)] = true;
    if (has_activity_regularizer(object, arguments)) {
      arguments[std::string(kActivityRegularizerMean)] = true;
    }
    if (!keras3) return;
    for (auto& [key, value] : arguments.items()) {
      if (std::string_view(key).ends_with("activation") && value == "hard_sigmoid") {
        value = kHardSigmoidOfKeras3;
      }
    }
  });
}

std::string take_version_marks(Json& config, std::string_view version) {
  bool later = false;
  bool earlier = false;
  for_each_object(config, [&](const Json& object, Json& arguments) {
    const bool bilinear = is_bilinear(object, arguments);
    const bool regularized = has_activity_regularizer(object, arguments);
    const bool centers = take(arguments, kHalfPixelCenters);
    const bool mean = take(arguments, kActivityRegularizerMean);
    later = later || centers || mean;
    earlier = earlier || (bilinear && !centers) || (regularized && !mean);
  });
  const bool written_later = later || is_version(version, 2, 3);
  if (written_later && earlier) {
    log_warning(
        "the model has layers with bilinear interpolation or an activity_regularizer as TensorFlow "
        "1.12 has them; what reads this file takes them for those of TensorFlow 2, with half-pixel "
        "centers and the penalty divided by the batch size");
  }
  if (!later || is_version(version, 2, 3)) return std::string(version);
  return std::string(kMarkedVersion);
}

}  // namespace systole::keras
