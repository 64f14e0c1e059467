// Arguments of what has one definition for all front ends: losses, metrics, schedules,
// initializers, regularizers.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace systole {

enum class HyperparameterRange : uint8_t {
  not_negative,  // [0, inf)
  positive,      // (0, inf)
  fraction,      // [0, 1]
  below_one,     // [0, 1)
  not_positive,  // (-inf, 0]
};

enum class RuleArgumentKind : uint8_t { number, integer, flag, text, numbers, integers };

// The front ends that have an argument; configuration files have those of train.
enum class RuleFronts : uint8_t { all, train, keras };

struct RuleArgument {
  std::string_view name;
  std::string_view keras_name = name;
  RuleArgumentKind kind = RuleArgumentKind::number;
  std::optional<double> usual = std::nullopt;  // by default; nullopt: required
  std::string_view usual_text = {};            // the default of a text
  std::optional<double> keras_usual = usual;   // in Keras
  bool may_be_missing = false;                 // there is no default
  std::string_view doc = {};
  // The range of a number; the least integer.
  HyperparameterRange range = HyperparameterRange::not_negative;
  std::optional<int64_t> least = std::nullopt;
  RuleFronts fronts = RuleFronts::all;

  bool in_train() const { return fronts != RuleFronts::keras; }
  bool in_keras() const { return fronts != RuleFronts::train; }
};

// The values of a definition's arguments: one each, but for lists.
struct RuleValues {
  std::map<std::string, std::vector<double>, std::less<>> values = {};
  std::map<std::string, std::string, std::less<>> texts = {};

  bool has(std::string_view name) const { return values.contains(name); }
  // 0, false: also for an argument that the front end does not have.
  double number(std::string_view name) const { return has(name) ? list(name).front() : 0; }
  int64_t integer(std::string_view name) const { return static_cast<int64_t>(number(name)); }
  std::optional<int64_t> optional_integer(std::string_view name) const {
    return has(name) ? std::optional(integer(name)) : std::nullopt;
  }
  bool flag(std::string_view name) const { return number(name) != 0; }
  const std::vector<double>& list(std::string_view name) const { return values.find(name)->second; }
  const std::string& text(std::string_view name) const { return texts.find(name)->second; }

  void set(std::string_view name, double value) { values[std::string(name)] = {value}; }
  void set(std::string_view name, const std::string& text) { texts[std::string(name)] = text; }
  void set(std::string_view name, std::vector<double> list) {
    values[std::string(name)] = std::move(list);
  }
  void set(std::string_view name, std::optional<int64_t> value) {
    if (value) set(name, static_cast<double>(*value));
  }
};

// The defaults of the arguments that have one.
inline RuleValues usual_values(std::span<const RuleArgument> arguments,
                               RuleFronts front = RuleFronts::train) {
  RuleValues values;
  for (const RuleArgument& argument : arguments) {
    const auto& usual = front == RuleFronts::keras ? argument.keras_usual : argument.usual;
    if (usual) values.set(argument.name, *usual);
    if (argument.kind == RuleArgumentKind::text) {
      values.set(argument.name, std::string(argument.usual_text));
    }
  }
  return values;
}

// The values that `options` has in `members`, pointers to its members in the order of those of
// `arguments` that the front end has.
template <class Options, class Members>
RuleValues values_of(const Options& options, const Members& members,
                     std::span<const RuleArgument> arguments, RuleFronts front) {
  RuleValues values = usual_values(arguments, front);
  size_t next = 0;
  const auto set_next = [&](const auto& value) {
    while (arguments[next].fronts != RuleFronts::all && arguments[next].fronts != front) ++next;
    values.set(arguments[next++].name, value);
  };
  std::apply(
      [&](const auto&... member) {
        [[maybe_unused]] const auto one = [&]<class T>(const T& value) {
          if constexpr (std::is_arithmetic_v<T>) {
            set_next(static_cast<double>(value));
          } else {
            set_next(value);
          }
        };
        (one(options.*member), ...);
      },
      members);
  return values;
}

// A value of an argument that is given by its position.
template <class T>
concept PositionalValue = std::is_arithmetic_v<T> || std::same_as<T, std::optional<int64_t>>;

// The options whose first members have these values.
template <class Options, class Members, PositionalValue... Values>
Options options_by_position(const Members& members, Values... values) {
  Options options;
  const auto set = [&]<class M>(M Options::*member, const auto& value) {
    options.*member = static_cast<M>(value);
  };
  [&]<size_t... I>(std::index_sequence<I...>) { (set(std::get<I>(members), values), ...); }
  (std::index_sequence_for<Values...>());
  return options;
}

}  // namespace systole
