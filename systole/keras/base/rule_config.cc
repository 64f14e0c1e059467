#include "systole/keras/base/rule_config.h"

#include <cctype>
#include <sstream>

namespace systole::keras {
namespace {

Json value_in_config(const RuleArgument& argument, const RuleValues& values) {
  switch (argument.kind) {
    case RuleArgumentKind::text:
      return values.text(argument.name);
    case RuleArgumentKind::flag:
      return values.flag(argument.name);
    case RuleArgumentKind::integer:
      return values.integer(argument.name);
    default:
      return values.number(argument.name);
  }
}

}  // namespace

std::vector<std::string> split_names(std::string_view names) {
  std::istringstream text{std::string(names)};
  std::vector<std::string> all;
  for (std::string name; text >> name;) all.push_back(name);
  return all;
}

std::string camel_case(std::string_view name) {
  std::string text;
  bool start = true;
  for (const char c : name) {
    if (c != '_') text += start ? static_cast<char>(std::toupper(c)) : c;
    start = c == '_';
  }
  return text;
}

std::vector<std::string> keras_argument_names(std::span<const RuleArgument> arguments) {
  std::vector<std::string> names;
  for (const RuleArgument& argument : arguments) {
    if (argument.in_keras()) names.emplace_back(argument.keras_name);
  }
  return names;
}

RuleValues values_from_config(std::span<const RuleArgument> arguments, const Json& config) {
  RuleValues values = usual_values(arguments, RuleFronts::keras);
  for (const RuleArgument& argument : arguments) {
    const auto it = config.find(std::string(argument.keras_name));
    if (!argument.in_keras() || it == config.end()) continue;
    if (argument.kind == RuleArgumentKind::text) {
      values.set(argument.name, it->get<std::string>());
    } else {
      values.set(argument.name, it->get<double>());
    }
  }
  return values;
}

Json config_of(std::span<const RuleArgument> arguments, const RuleValues& values) {
  Json config = Json::object();
  for (const RuleArgument& argument : arguments) {
    if (!argument.in_keras()) continue;
    config[std::string(argument.keras_name)] = value_in_config(argument, values);
  }
  return config;
}

}  // namespace systole::keras
