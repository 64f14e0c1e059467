// The optimizers of graph/optimizers and the schedules of their rates.
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "apps/systole/train/model_tables.h"
#include "systole/train/learning_rate_decay.h"

namespace systole::app {
namespace {

constexpr ConfigKey kFirst = {"learning_rate", "number", "required", "Initial rate."};
constexpr ConfigKey kSteps = {"decay_steps", "integer", "required",
                              "Steps of one decay period, at least 1."};
constexpr ConfigKey kDecay = {"decay_rate", "number", "required", "Decay of one period."};
constexpr ConfigKey kStaircase = {"staircase", "boolean", "false",
                                  "Decay at the end of each period only."};
constexpr ConfigKey kDecayKeys[] = {kFirst, kSteps, kDecay, kStaircase};
constexpr ConfigKey kPiecewiseKeys[] = {
    {"boundaries", "list of integers", "required", "Last step of each rate except the last."},
    {"values", "list of numbers", "required", "The rates, one more than boundaries."}};
constexpr ConfigKey kPolynomialKeys[] = {
    kFirst,
    kSteps,
    {"end_learning_rate", "number", "0.0001", "Final rate."},
    {"power", "number", "1", "Exponent of the polynomial."},
    {"cycle", "boolean", "false", "Restart after decay_steps."}};
constexpr ConfigKey kCosineKeys[] = {
    kFirst, kSteps, {"alpha", "number", "0", "Final rate as a fraction of the initial rate."}};

RateMaker exponential(const ConfigSection& s) {
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          decay = s.number("decay_rate", kNotNegative),
          staircase = s.flag("staircase")]() -> Hyperparameter {
    return exponential_decay(rate, get_global_step(), steps, decay, {.staircase = staircase});
  };
}

RateMaker inverse_time(const ConfigSection& s) {
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          decay = s.number("decay_rate", kNotNegative),
          staircase = s.flag("staircase")]() -> Hyperparameter {
    return inverse_time_decay(rate, get_global_step(), steps, decay, {.staircase = staircase});
  };
}

RateMaker piecewise(const ConfigSection& s) {
  const std::vector<int64_t> boundaries = s.integers("boundaries");
  const std::vector<double> values = s.numbers("values", kNotNegative);
  if (values.size() != boundaries.size() + 1) {
    throw s.error("values", fmt::format("{} for {} boundaries", values.size(), boundaries.size()),
                  std::to_string(boundaries.size() + 1));
  }
  if (std::ranges::adjacent_find(boundaries, std::greater_equal<>()) != boundaries.end()) {
    throw s.error("boundaries", fmt::format("[{}]", fmt::join(boundaries, ", ")), "rising steps");
  }
  return [boundaries, values]() -> Hyperparameter {
    return piecewise_constant(get_global_step(), boundaries, values);
  };
}

RateMaker polynomial(const ConfigSection& s) {
  const PolynomialDecayOptions options{
      .end_learning_rate = s.number("end_learning_rate", 0.0001, kNotNegative),
      .power = s.number("power", 1, kNotNegative),
      .cycle = s.flag("cycle")};
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          options]() -> Hyperparameter {
    return polynomial_decay(rate, get_global_step(), steps, options);
  };
}

RateMaker cosine(const ConfigSection& s) {
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          alpha = s.number("alpha", 0, kFraction)]() -> Hyperparameter {
    return cosine_decay(rate, get_global_step(), steps, {.alpha = alpha});
  };
}

const ConfigRow<RateMaker> kSchedules[] = {
    {"exponential_decay", "rate * decay_rate ^ (step / decay_steps).", kDecayKeys, &exponential},
    {"inverse_time_decay", "rate / (1 + decay_rate * step / decay_steps).", kDecayKeys,
     &inverse_time},
    {"piecewise_constant", "A constant rate for each range of steps.", kPiecewiseKeys, &piecewise},
    {"polynomial_decay", "A polynomial from the initial rate to the last.", kPolynomialKeys,
     &polynomial},
    {"cosine_decay", "Half a period of a cosine.", kCosineKeys, &cosine}};

RateMaker rate_of(const ConfigSection& s) {
  const ConfigNode node = s.require("learning_rate", "a number or a schedule");
  if (node.is_map()) return make_named(node, s.what("learning_rate"), schedule_table());
  const double rate =
      number_of(node, s.what("learning_rate"), "a number or a schedule", kNotNegative);
  return [rate]() { return Hyperparameter(rate); };
}

const NumberRule& number_rule(const OptimizerArgument& argument) {
  switch (argument.range.value_or(HyperparameterRange::not_negative)) {
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

double number_of_argument(const OptimizerArgument& argument) {
  if (const auto* number = std::get_if<double>(&argument.usual)) return *number;
  return std::get<Hyperparameter>(argument.usual).literal().value_or(0);
}

// "1e-8"
std::string shown_number(double number) {
  std::string text = fmt::format("{}", number);
  if (const size_t at = text.find("e-0"); at != std::string::npos) text.erase(at + 2, 1);
  return text;
}

// The texts of a class's keys live as long as the program.
const char* kept(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text)).c_str();
}

std::span<const ConfigKey> keys_of(const OptimizerClass& made) {
  static std::deque<std::vector<ConfigKey>> all;
  std::vector<ConfigKey>& keys = all.emplace_back();
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
  return keys;
}

OptimizerMaker make_optimizer(const OptimizerClass& made, const ConfigSection& s) {
  const RateMaker rate =
      s.has("learning_rate") || !made.learning_rate
          ? rate_of(s)
          : RateMaker([usual = *made.learning_rate] { return Hyperparameter(usual); });
  std::vector<OptimizerArgument> arguments = made.arguments;
  for (OptimizerArgument& argument : arguments) {
    const std::string name(argument.name);
    if (argument.is_flag()) {
      argument.value = s.flag(name, std::get<bool>(argument.usual));
    } else if (argument.is_patterns()) {
      argument.value = s.texts(name);
    } else if (argument.required) {
      argument.value = s.number(name, number_rule(argument));
    } else {
      argument.value = s.number(name, number_of_argument(argument), number_rule(argument));
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
std::span<const ConfigRow<RateMaker>> schedule_table() { return kSchedules; }

}  // namespace systole::app
