// Configurations of optimizers in the forms of the versions of Keras.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/keras/models/config_upgrade.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

constexpr std::string_view kInverseTimeDecay = "InverseTimeDecay";

// A class of ours, which TensorFlow from 2.11 on and Keras 3 have with other defaults.
const OptimizerClass* new_optimizer(std::string_view name) {
  const OptimizerClass* const found = find_optimizer_class(name);
  return found != nullptr && found->def != nullptr ? found : nullptr;
}

double new_learning_rate(const OptimizerDef& def) {
  return def.keras_2_11_learning_rate.value_or(def.keras_learning_rate);
}

// {"class_name": "InverseTimeDecay", "config": {...}} -> lr, decay.
void upgrade_learning_rate(const std::string& optimizer, Json& config) {
  const Json rate = config.value("learning_rate", Json());
  if (!rate.is_object()) return;
  const Json schedule = rate.value("config", Json::object());
  if (rate.value("class_name", "") != kInverseTimeDecay || schedule.value("staircase", false)) {
    throw unimplemented(
        "{}: learning_rate, got a schedule of class {}, expected a number or InverseTimeDecay: "
        "load "
        "without compiling, then compile with a LearningRateScheduler",
        optimizer, rate.value("class_name", Json()).dump());
  }
  config["learning_rate"] = schedule.at("initial_learning_rate");
  config["decay"] =
      schedule.at("decay_rate").get<double>() / schedule.at("decay_steps").get<double>();
}

void erase_if_neutral(Json& config) {
  if (config.value("use_ema", Json(false)) == false) {
    for (const char* key : {"ema_momentum", "ema_overwrite_frequency"}) config.erase(key);
  }
  for (const char* key : {"name", "jit_compile", "is_legacy_optimizer"}) config.erase(key);
}

// A class of TensorFlow from 2.11 on.
void upgrade_new_class(const std::string& name, Json& config) {
  if (name == "RMSprop" || name == "Adagrad") config["epsilon_in_root"] = true;
  if (name == "Nadam") config["schedule_decay"] = 1.0;
  if (name == "Adagrad" && !config.contains("initial_accumulator_value")) {
    config["initial_accumulator_value"] = 0.1;
  }
}

// Upgrades configurations of TensorFlow 2.0 to 2.10.
void upgrade_second_class(const OptimizerClass& known, Json& config, std::string_view version) {
  if (known.name == "Nadam" && config.contains("decay") && !config.contains("schedule_decay")) {
    config["schedule_decay"] = config["decay"];
    config.erase("decay");
  }
  if (known.has_lazy && config.contains("learning_rate") && is_version(version, 2, 2, 4)) {
    config["lazy"] = true;
  }
}

}  // namespace

bool is_version(std::string_view version, int major, int minor, int patch) {
  std::array<int, 3> parts{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int& part : parts) {
    const auto [next, failed] = std::from_chars(at, end, part);
    if (failed != std::errc()) break;
    at = next;
    if (at == end || *at != '.') break;
    ++at;
  }
  return parts >= std::array<int, 3>{major, minor, patch};
}

Json upgrade_optimizer_config(Json optimizer, std::string_view keras_version) {
  if (optimizer.is_string()) {
    const OptimizerClass* const known = new_optimizer(optimizer.get<std::string>());
    if (known == nullptr) return optimizer;
    optimizer = {
        {"class_name", known->name},
        {"config",
         {{"learning_rate", new_learning_rate(*known->def)}, {"is_legacy_optimizer", false}}}};
  }
  if (!optimizer.is_object() || !optimizer.contains("config")) return optimizer;
  std::string name;
  if (optimizer.contains("class_name") && optimizer["class_name"].is_string()) {
    name = optimizer["class_name"].get<std::string>();
    if (const size_t mark = name.rfind('>'); mark != std::string::npos) name.erase(0, mark + 1);
    optimizer["class_name"] = name;
  }
  Json& config = optimizer["config"];
  if (!config.is_object()) return optimizer;
  const OptimizerClass* const known = new_optimizer(name);
  const bool is_new = config.value("is_legacy_optimizer", Json()) == false ||
                      config.contains("use_ema") || config.contains("ema_momentum");
  if (is_new) upgrade_learning_rate(name, config);
  if (known != nullptr) {
    if (is_new) {
      upgrade_new_class(known->name, config);
    } else {
      upgrade_second_class(*known, config, keras_version);
    }
  }
  erase_if_neutral(config);
  if (config.contains("learning_rate")) {
    Json made = {{"lr", config["learning_rate"]}};
    config.erase("learning_rate");
    made.update(config);
    config = std::move(made);
  }
  return optimizer;
}

Json optimizer_config_for_files(Json optimizer) {
  const std::string name = optimizer.value("class_name", "");
  if (new_optimizer(name) == nullptr) return optimizer;
  Json config = {{"learning_rate", optimizer["config"].at("lr")}};
  config.update(optimizer["config"]);
  config.erase("lr");
  const bool is_new = config.value("epsilon_in_root", false);
  config.erase("epsilon_in_root");
  if (is_new && config.value("decay", 0.0) == 0) {
    config.erase("decay");
    config["is_legacy_optimizer"] = false;
  }
  // TensorFlow 2 has 0.1 by default.
  if (name == "Adagrad" && !config.contains("initial_accumulator_value")) {
    config["initial_accumulator_value"] = 0.0;
  }
  optimizer["config"] = std::move(config);
  return optimizer;
}

Json optimizer_config_for_keras3(Json optimizer) {
  const std::string name = optimizer.value("class_name", "");
  const bool known = new_optimizer(name) != nullptr;
  Json made = {{"module", known ? Json("keras.optimizers") : Json()}, {"class_name", name}};
  Json config = optimizer.at("config");
  if (known) {
    if ((name == "RMSprop" || name == "Adagrad") && !config.value("epsilon_in_root", false) &&
        (name == "Adagrad" || config.value("momentum", 0.0) == 0)) {
      log_once(LogLevel::info,
               "{}: Keras 3 adds epsilon inside the square root: steps after it has read the file "
               "differ a little from those here, unless epsilon_in_root is true",
               name);
    }
    if (name == "Nadam" && config.value("schedule_decay", 1.0) != 1) {
      log_once(LogLevel::warning,
               "Nadam: Keras 3 has no schedule_decay, it trains with 1 where this optimizer has {}",
               config["schedule_decay"].dump());
    }
    Json rate = config.at("lr");
    if (const double decay = config.value("decay", 0.0); decay != 0) {
      rate = {{"module", "keras.optimizers.schedules"},
              {"class_name", kInverseTimeDecay},
              {"config",
               {{"initial_learning_rate", rate},
                {"decay_steps", 1.0},
                {"decay_rate", decay},
                {"staircase", false},
                {"name", kInverseTimeDecay}}},
              {"registered_name", nullptr}};
    }
    if (name == "Adagrad" && !config.contains("initial_accumulator_value")) {
      config["initial_accumulator_value"] = 0.0;
    }
    for (const char* key : {"lr", "decay", "schedule_decay", "epsilon_in_root", "lazy"}) {
      config.erase(key);
    }
    config["learning_rate"] = std::move(rate);
  }
  made["config"] = std::move(config);
  made["registered_name"] = known ? Json() : Json(name);
  return made;
}

}  // namespace systole::keras
