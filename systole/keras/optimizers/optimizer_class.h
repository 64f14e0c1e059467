// The registry of optimizers, one file of this folder each, and what they have in common.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/keras/engine/fields.h"
#include "systole/keras/optimizers/optimizer.h"

namespace systole::keras {

struct OptimizerClass {
  std::string name;   // "Adam"
  std::string alias;  // "adam"
  std::function<OptimizerSpec(const Json& config)> from_config;
};

// Defined by the build from the files of this folder.
std::span<OptimizerClass (*const)()> optimizer_class_files();

// What configurations hold: Keras stores hyperparameters in f32.
inline double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

// An argument that Keras keeps in a variable.
template <class O>
Field<O> hyperparameter_field(const std::string& name, double O::*member) {
  Field<O> made = field(name, member);
  made.get = [member](const O& options) { return Json(rounded(options.*member)); };
  return made;
}

// Base of optimizers whose arguments are lr and an options struct with the fields `clipnorm`,
// `clipvalue` and, but for Nadam, `decay`. `Derived` has
//   static constexpr std::string_view kClassName = "Adam";
//   static constexpr double kLearningRate = 0.001;  // by default
//   static std::vector<Field<Options>> fields();    // the other arguments
//   Derived(double lr, const Options& options);
//   std::vector<std::vector<WeightPtr>*> slots();   // those that it has
//   static constexpr std::array kNewArguments = {"x"sv};  // optional: of later versions of Keras
template <class Derived, class Options>
class OptimizerOf : public OptimizerDefinition {
 public:
  std::string class_name() const override { return std::string(Derived::kClassName); }

  Json config() const override {
    Json json = {{"lr", rounded(static_cast<double>(lr_->value().template item<float>()))}};
    for (const Field<Options>& field : all_fields()) json[field.name] = field.get(options_);
    // Keras writes some arguments only where they are given, and has others in later versions only.
    const Options defaults;
    for (const Field<Options>& field : all_fields()) {
      if (!left_out_by_default(field.name)) continue;
      if (field.get(options_) == field.get(defaults)) json.erase(field.name);
    }
    return json;
  }

  static std::vector<Field<Options>> all_fields() {
    std::vector<Field<Options>> all = Derived::fields();
    if constexpr (requires(Options options) { options.decay; }) {
      all.push_back(hyperparameter_field("decay", &Options::decay));
    }
    all.push_back(field("clipnorm", &Options::clipnorm));
    all.push_back(field("clipvalue", &Options::clipvalue));
    if constexpr (requires(Options options) { options.lazy; }) {
      all.push_back(field("lazy", &Options::lazy));
    }
    return all;
  }

 protected:
  // Errors: INVALID_ARGUMENT for a number that is not finite or below 0, and for a beta or rho of 1
  // or more.
  OptimizerOf(double lr, const Options& options) : options_(options) {
    if (!std::isfinite(lr) || lr < 0) {
      throw invalid_argument("{}: lr, got {}, expected a number of 0 or more", Derived::kClassName,
                             lr);
    }
    check_arguments();
    lr_ = hyperparameter("lr", lr);
    clipnorm_ = options.clipnorm;
    clipvalue_ = options.clipvalue;
    if constexpr (requires { options.decay; }) {
      if (options.decay > 0) decay_ = hyperparameter("decay", options.decay);
    }
  }
  const Options options_;

  std::shared_ptr<OptimizerDefinition> without_slots() const override {
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    for (std::vector<WeightPtr>* const slots : copy->slots()) slots->clear();
    copy->forget_state();
    return copy;
  }

 private:
  static bool left_out_by_default(std::string_view argument) {
    if (argument == "clipnorm" || argument == "clipvalue" || argument == "lazy") return true;
    if constexpr (requires { Derived::kNewArguments; }) {
      return std::ranges::find(Derived::kNewArguments, argument) !=
             std::end(Derived::kNewArguments);
    }
    return false;
  }
  void check_arguments() const {
    for (const Field<Options>& field : all_fields()) {
      const Json json = field.get(options_);
      if (!json.is_number()) continue;
      const auto value = json.template get<double>();
      const bool average = field.name.starts_with("beta_") || field.name == "rho";
      if (value >= 0 && std::isfinite(value) && (!average || value < 1)) continue;
      throw invalid_argument("{}: Expected {} >= 0{}, received: {}", Derived::kClassName,
                             field.name, average ? " and < 1" : "", value);
    }
  }
};

// An optimizer with the arguments of a configuration. "learning_rate" is the lr of later versions.
// Arguments of other versions count as left out where they are null, 0 or false. Errors: NOT_FOUND
// for other unknown arguments.
template <class Derived, class Options>
OptimizerSpec optimizer_from(const Json& config) {
  Options options;
  double lr = Derived::kLearningRate;
  const std::vector<Field<Options>> fields = Derived::all_fields();
  for (const auto& [key, value] : config.items()) {
    const std::string& name = key;
    const auto it = std::ranges::find(fields, name, &Field<Options>::name);
    if (value.is_null() || name == "name") continue;
    try {
      if (name == "lr" || name == "learning_rate") {
        lr = JsonType<double>::from_json(value);
      } else if (it != fields.end()) {
        it->set(options, value);
      } else if (value != Json(0) && value != Json(false)) {
        std::vector<std::string> names = {"lr"};
        for (const Field<Options>& known : fields) names.push_back(known.name);
        throw not_found("argument '{}' is not known{}", name, did_you_mean(name, names));
      }
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", Derived::kClassName, error.message()));
    }
  }
  return OptimizerSpec(std::make_shared<Derived>(lr, options));
}

// lr: the first argument, or `options.lr`. Errors: INVALID_ARGUMENT for both.
template <class Derived, class Options>
OptimizerSpec make_optimizer(std::optional<double> lr, const Options& options) {
  if (lr && options.lr) {
    throw invalid_argument("{}: lr, got {} and {{.lr = {}}}, expected it once", Derived::kClassName,
                           *lr, *options.lr);
  }
  const double by_name = options.lr.value_or(Derived::kLearningRate);
  return OptimizerSpec(std::make_shared<Derived>(lr.value_or(by_name), options));
}

// The class of `Derived`, for its file's function.
template <class Derived, class Options>
OptimizerClass optimizer_class(std::string alias) {
  return {std::string(Derived::kClassName), std::move(alias), optimizer_from<Derived, Options>};
}

}  // namespace systole::keras
