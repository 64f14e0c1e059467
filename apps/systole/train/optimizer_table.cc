// The optimizers of graph/optimizers and the schedules of their rates.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "apps/systole/train/model_tables.h"
#include "apps/systole/train/rule_keys.h"
#include "systole/train/schedules/learning_rate_decay.h"

namespace systole::app {
namespace {

void check_pieces(const ConfigSection& s) {
  const std::vector<int64_t> boundaries = s.integers("boundaries");
  const size_t count = s.numbers("values").size();
  if (count != boundaries.size() + 1) {
    throw s.error("values", fmt::format("{} for {} boundaries", count, boundaries.size()),
                  std::to_string(boundaries.size() + 1));
  }
  if (std::ranges::adjacent_find(boundaries, std::greater_equal<>()) != boundaries.end()) {
    throw s.error("boundaries", fmt::format("[{}]", fmt::join(boundaries, ", ")), "rising steps");
  }
}

RateMaker make_schedule(const ScheduleDef& def, const ConfigSection& s) {
  const RuleValues values = rule_values(def.arguments, s);
  if (def.name == "piecewise_constant") check_pieces(s);
  return [&def, values]() -> Hyperparameter { return def.make(values, get_global_step()); };
}

RateMaker rate_of(const ConfigSection& s) {
  const ConfigNode node = s.require("learning_rate", "a number or a schedule");
  if (node.is_map()) return make_named(node, s.what("learning_rate"), schedule_table());
  const double rate =
      number_of(node, s.what("learning_rate"), "a number or a schedule", kNotNegative);
  return [rate]() { return Hyperparameter(rate); };
}

double number_of_argument(const OptimizerArgument& argument) {
  if (const auto* number = std::get_if<double>(&argument.usual)) return *number;
  return std::get<Hyperparameter>(argument.usual).literal().value_or(0);
}

std::span<const ConfigKey> keys_of(const OptimizerClass& made) {
  std::vector<ConfigKey> keys;
  keys.push_back({"learning_rate", "number or schedule",
                  made.learning_rate ? kept(shown_number(*made.learning_rate)) : "required",
                  "Size of a step."});
  for (const OptimizerArgument& argument : made.arguments) {
    if (argument.is_patterns()) {
      keys.push_back(
          {kept(std::string(argument.name)), "list of texts", "", kept(std::string(argument.doc))});
      continue;
    }
    std::string usual = argument.is_flag()  ? fmt::format("{}", std::get<bool>(argument.usual))
                        : argument.required ? "required"
                                            : shown_number(number_of_argument(argument));
    keys.push_back({kept(std::string(argument.name)), argument.is_flag() ? "boolean" : "number",
                    kept(std::move(usual)), kept(std::string(argument.doc))});
  }
  return kept_keys(std::move(keys));
}

OptimizerMaker make_optimizer(const OptimizerClass& made, const ConfigSection& s) {
  const RateMaker rate =
      s.has("learning_rate") || !made.learning_rate
          ? rate_of(s)
          : RateMaker([usual = *made.learning_rate] { return Hyperparameter(usual); });
  std::vector<OptimizerArgument> arguments = made.arguments;
  for (OptimizerArgument& argument : arguments) {
    const std::string name(argument.name);
    const NumberRule& rule =
        number_rule(argument.range.value_or(HyperparameterRange::not_negative));
    if (argument.is_flag()) {
      argument.value = s.flag(name, std::get<bool>(argument.usual));
    } else if (argument.is_patterns()) {
      argument.value = s.texts(name);
    } else if (argument.required) {
      argument.value = s.number(name, rule);
    } else {
      argument.value = s.number(name, number_of_argument(argument), rule);
    }
  }
  return [rate, make = made.make, arguments] { return make(rate(), arguments); };
}

}  // namespace

std::span<const ConfigRow<OptimizerMaker>> optimizer_table() {
  static const std::vector<ConfigRow<OptimizerMaker>> kRows = [] {
    std::vector<ConfigRow<OptimizerMaker>> rows;
    for (const OptimizerClass& made : optimizer_classes()) {
      rows.push_back({made.name.c_str(), made.doc.c_str(), keys_of(made),
                      [&made](const ConfigSection& s) { return make_optimizer(made, s); }});
    }
    return rows;
  }();
  return kRows;
}

std::span<const ConfigRow<RateMaker>> schedule_table() {
  static const std::vector<ConfigRow<RateMaker>> kRows = [] {
    std::vector<ConfigRow<RateMaker>> rows;
    for (const ScheduleDef* def : all_schedule_defs()) {
      rows.push_back({kept(std::string(def->name)), kept(std::string(def->doc)),
                      rule_keys(def->arguments),
                      [def](const ConfigSection& s) { return make_schedule(*def, s); }});
    }
    return rows;
  }();
  return kRows;
}

}  // namespace systole::app
