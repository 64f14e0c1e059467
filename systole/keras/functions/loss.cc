#include "systole/keras/functions/loss.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/base/rule_config.h"

namespace systole::keras {
namespace {

struct NamedLoss {
  LossFn function;
  std::string full_name;
  const LossDef* def = nullptr;  // null for a program's own
};

LossFn function_of(const LossDef& def, RuleValues arguments) {
  return [&def, arguments = std::move(arguments)](const Output& t, const Output& p) {
    return systole::losses::keras_loss(def, arguments, t, p);
  };
}

std::map<std::string, NamedLoss>& loss_table() {
  static std::map<std::string, NamedLoss> rows = [] {
    std::map<std::string, NamedLoss> made;
    for (const LossDef* def : all_loss_defs()) {
      if (def->keras_name.empty()) continue;
      const std::string name(def->keras_name);
      const NamedLoss row{function_of(*def, usual_values(def->arguments)), name, def};
      made[name] = row;
      for (const std::string& alias : split_names(def->keras_aliases)) made[alias] = row;
    }
    return made;
  }();
  return rows;
}

const NamedLoss& find_loss(const std::string& name) {
  const auto it = loss_table().find(name);
  if (it == loss_table().end()) {
    throw not_found("Unknown loss function:{}{}", name, did_you_mean(name, loss_names()));
  }
  return it->second;
}

// "BinaryCrossentropy"
std::string class_of(const LossDef& def) {
  return def.keras_class.empty() ? camel_case(def.keras_name) : std::string(def.keras_class);
}

std::string name_of_class(const std::string& class_name) {
  for (const LossDef* def : all_loss_defs()) {
    if (!def->keras_name.empty() && class_of(*def) == class_name) {
      return std::string(def->keras_name);
    }
  }
  return snake_case(class_name);
}

// Whether an argument that is not the loss's own says only what is so here.
bool says_nothing(const std::string& key, const Json& value) {
  static const std::set<std::string> kReductions = {"auto", "sum_over_batch_size"};
  if (key == "name" || key == "fn" || key == "dtype" || value.is_null()) return true;
  if (key == "reduction")
    return value.is_string() && kReductions.contains(value.get<std::string>());
  if (key == "axis") return value == -1;
  return value == false || value == 0;
}

const RuleArgument* argument_of(const LossDef* def, const std::string& key) {
  if (def == nullptr) return nullptr;
  for (const RuleArgument& argument : def->arguments) {
    if (argument.in_keras() && argument.name == key) return &argument;
  }
  return nullptr;
}

// The values of a loss object. Errors: UNIMPLEMENTED.
RuleValues loss_values(const std::string& name, const LossDef* def, const Json& config) {
  RuleValues values = def == nullptr ? RuleValues{} : usual_values(def->arguments);
  for (const auto& [key, value] : config.items()) {
    const RuleArgument* const argument = argument_of(def, key);
    const bool fits = value.is_number() || value.is_boolean();
    if (argument != nullptr && fits) {
      values.set(key,
                 value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>());
    } else if (!says_nothing(key, value)) {
      throw unimplemented("loss {}: argument '{}', got {}, expected {}", name, key, value.dump(),
                          argument != nullptr ? "a number" : "its default");
    }
  }
  return values;
}

// The values that are not the defaults, as JSON; "" for none.
std::string arguments_text(const LossDef& def, const RuleValues& values) {
  Json used = config_of(def.arguments, values);
  for (const RuleArgument& argument : def.arguments) {
    if (values.number(argument.name) == argument.usual) used.erase(std::string(argument.name));
  }
  return used.empty() ? "" : used.dump();
}

}  // namespace

LossSpec::LossSpec(const std::string& name) {
  const NamedLoss& found = find_loss(name);
  function_ = found.function;
  name_ = found.full_name;
}

LossSpec::LossSpec(const LossDef& def, const RuleValues& arguments)
    : function_(function_of(def, arguments)),
      name_(def.keras_name),
      arguments_(arguments_text(def, arguments)) {}

LossSpec loss_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string()) {
    throw invalid_argument("got {}, expected the name of a loss", json.dump());
  }
  const Json config = json.value("config", Json::object());
  if (config.is_string()) return config.get<std::string>();  // of a function
  const auto class_name = json["class_name"].get<std::string>();
  // TensorFlow 2 wraps functions.
  const std::string name = class_name == "LossFunctionWrapper"
                               ? config.value("fn", config.value("name", ""))
                               : name_of_class(class_name);
  const NamedLoss& found = find_loss(name);
  const RuleValues values = loss_values(found.full_name, found.def, config);
  return found.def == nullptr ? LossSpec(name) : LossSpec(*found.def, values);
}

Json loss_to_json(const LossSpec& loss) {
  if (loss.arguments().empty()) return loss.name();
  return {{"class_name", class_of(*find_loss(loss.name()).def)},
          {"config", Json::parse(loss.arguments())}};
}

void register_loss(const std::string& name, LossFn function) {
  if (!loss_table().emplace(name, NamedLoss{std::move(function), name}).second) {
    throw make_error(Code::already_exists, "loss '{}' is registered already", name);
  }
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const auto& [name, row] : loss_table()) names.push_back(name);
  return names;
}

}  // namespace systole::keras
