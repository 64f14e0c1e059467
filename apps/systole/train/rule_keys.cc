#include "apps/systole/train/rule_keys.h"

#include <fmt/format.h>

#include <deque>

namespace systole::app {
namespace {

using Kind = RuleArgumentKind;

std::string rule_default(const RuleArgument& argument) {
  if (argument.kind == Kind::text) return std::string(argument.usual_text);
  if (!argument.usual) return argument.may_be_missing ? "" : "required";
  return argument.kind == Kind::flag ? fmt::format("{}", *argument.usual != 0)
                                     : shown_number(*argument.usual);
}

int64_t integer_value(const RuleArgument& argument, const std::string& name,
                      const ConfigSection& s) {
  const int64_t least = argument.least.value_or(INT64_MIN);
  return argument.usual ? s.integer(name, static_cast<int64_t>(*argument.usual), least)
                        : s.integer_from(name, least);
}

void read_value(const RuleArgument& argument, const ConfigSection& s, RuleValues& values) {
  const std::string name(argument.name);
  const NumberRule& rule = number_rule(argument.range);
  if (argument.may_be_missing && !s.has(name)) return;
  switch (argument.kind) {
    case Kind::integer:
      values.set(name, static_cast<double>(integer_value(argument, name, s)));
      return;
    case Kind::flag:
      values.set(name, s.flag(name, argument.usual == 1.0) ? 1.0 : 0.0);
      return;
    case Kind::text:
      values.set(name, s.text(name, std::string(argument.usual_text)));
      return;
    case Kind::numbers:
      values.values[name] = s.numbers(name, rule);
      return;
    case Kind::integers: {
      const std::vector<int64_t> integers = s.integers(name);
      values.values[name] = {integers.begin(), integers.end()};
      return;
    }
    default:
      values.set(name,
                 argument.usual ? s.number(name, *argument.usual, rule) : s.number(name, rule));
  }
}

}  // namespace

const char* kept(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text)).c_str();
}

std::span<const ConfigKey> kept_keys(std::vector<ConfigKey> keys) {
  static std::deque<std::vector<ConfigKey>> all;
  return all.emplace_back(std::move(keys));
}

std::string shown_number(double number) {
  std::string text = fmt::format("{}", number);
  if (const size_t at = text.find("e-0"); at != std::string::npos) text.erase(at + 2, 1);
  return text;
}

const NumberRule& number_rule(HyperparameterRange range) {
  switch (range) {
    case HyperparameterRange::positive:
      return kPositive;
    case HyperparameterRange::fraction:
      return kFraction;
    case HyperparameterRange::below_one:
      return kBelowOne;
    case HyperparameterRange::not_positive:
      return kNotPositive;
    default:
      return kNotNegative;
  }
}

std::span<const ConfigKey> rule_keys(std::span<const RuleArgument> arguments,
                                     std::span<const ConfigKey> more) {
  constexpr const char* kTypes[] = {"number", "integer",         "boolean",
                                    "text",   "list of numbers", "list of integers"};
  std::vector<ConfigKey> keys;
  for (const RuleArgument& argument : arguments) {
    if (!argument.in_train()) continue;
    keys.push_back({kept(std::string(argument.name)), kTypes[static_cast<int>(argument.kind)],
                    kept(rule_default(argument)), kept(std::string(argument.doc))});
  }
  keys.insert(keys.end(), more.begin(), more.end());
  return kept_keys(std::move(keys));
}

RuleValues rule_values(std::span<const RuleArgument> arguments, const ConfigSection& section) {
  RuleValues values = usual_values(arguments);
  for (const RuleArgument& argument : arguments) {
    if (argument.in_train()) read_value(argument, section, values);
  }
  return values;
}

}  // namespace systole::app
