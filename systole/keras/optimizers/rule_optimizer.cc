// Keras's form of the rules in graph/optimizers.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/optimizers/update_step.h"
#include "systole/keras/base/fields.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

// Whether Keras keeps the argument in a variable, in f32.
bool is_stored_in_f32(const OptimizerArgument& argument) {
  return argument.range == HyperparameterRange::fraction ||
         argument.range == HyperparameterRange::below_one;
}

Json json_of(const OptimizerArgument& argument, const ArgumentValue& value) {
  if (argument.is_flag()) return std::get<bool>(value);
  if (argument.is_patterns()) return std::get<NamePatterns>(value);
  const double number = std::get<double>(value);
  return is_stored_in_f32(argument) ? rounded(number) : number;
}

void check_keras_arguments(std::string_view owner, double lr,
                           const std::vector<OptimizerArgument>& arguments) {
  if (!std::isfinite(lr) || lr < 0) {
    throw invalid_argument("{}: lr, got {}, expected a number of 0 or more", owner, lr);
  }
  for (const OptimizerArgument& argument : arguments) {
    if (!argument.is_number()) continue;
    const double value = std::get<double>(argument.value);
    if (argument.range == HyperparameterRange::not_positive) {
      if (value <= 0) continue;
      throw invalid_argument("{}: Expected {} <= 0, received: {}", owner, argument.name, value);
    }
    const bool average = argument.name.starts_with("beta_") || argument.name == "rho";
    if (value >= 0 && std::isfinite(value) && (!average || value < 1)) continue;
    throw invalid_argument("{}: Expected {} >= 0{}, received: {}", owner, argument.name,
                           average ? " and < 1" : "", value);
  }
}

class RuleOptimizer : public OptimizerDefinition {
 public:
  RuleOptimizer(const OptimizerDef& def, double lr, std::vector<OptimizerArgument> arguments)
      : def_(def), arguments_(std::move(arguments)) {
    check_keras_arguments(def.name_in_keras(), lr, arguments_);
    values_.in_keras = true;
    for (const OptimizerArgument& argument : arguments_) {
      values_.values[std::string(argument.rule_name)] = argument.value;
    }
    lr_ = hyperparameter("lr", lr);
    clipnorm_ = values_.number("clipnorm");
    clipvalue_ = values_.number("clipvalue");
    if (const double decay = values_.number("decay"); decay > 0) {
      decay_ = hyperparameter("decay", decay);
    }
    if (!def.shared_slot.empty()) {
      shared_ = hyperparameter(std::string(def.shared_slot), def.shared_initial);
    }
  }

  std::string class_name() const override { return std::string(def_.name_in_keras()); }

  Json config() const override {
    Json json = {{"lr", rounded(static_cast<double>(lr_->value().item<float>()))}};
    for (const OptimizerArgument& argument : arguments_) {
      const Json value = json_of(argument, argument.value);
      if (argument.later && value == json_of(argument, argument.usual)) continue;
      json[std::string(argument.name)] = value;
    }
    return json;
  }

  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all;
    if (def_.keras_keeps_iterations) all.push_back(iterations_);
    for (const auto& slots : slots_) all.insert(all.end(), slots.begin(), slots.end());
    return all;
  }

  SlotLayout slot_layout() const override {
    return {.kinds = slots_.size(), .interleaved = def_.keras_interleaved_slots};
  }

  void restored() override {
    if (!shared_ || def_.shared_after == nullptr) return;
    const double value = def_.shared_after(values_, iterations_->value().item<int64_t>());
    shared_->set_value(Tensor(static_cast<float>(value)));
  }

 protected:
  std::shared_ptr<OptimizerDefinition> without_slots() const override {
    auto copy = std::make_shared<RuleOptimizer>(*this);
    copy->slots_.clear();
    copy->forget_state();
    return copy;
  }

  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const std::vector<OptimizerSlot> specs =
        def_.slots ? def_.slots(values_, parameter->shape()) : std::vector<OptimizerSlot>();
    if (slots_.empty()) slots_.resize(specs.size());
    std::map<std::string, WeightPtr> slots;
    if (shared_) slots[std::string(def_.shared_slot)] = shared_;
    for (size_t i = 0; i < specs.size(); ++i) {
      const Shape shape = specs[i].shape.value_or(parameter->shape());
      WeightPtr made = slot(slots_[i], parameter, shape, specs[i].initial);
      if (!specs[i].for_files) slots[std::string(specs[i].name)] = std::move(made);
    }
    const DType dtype = parameter->type().dtype;
    UpdateStep::Inputs inputs;
    inputs.name = parameter->name();
    inputs.variable = context.value(parameter);
    inputs.gradient = g;
    inputs.rows = rows();
    if (const auto slices = indexed_slices(g); slices && def_.elementwise) {
      const IndexedSlices rows = sum_duplicates(*slices);
      inputs.gradient = rows.values;
      inputs.indices = rows.indices;
    }
    for (const auto& [name, weight] : slots) inputs.slots[name] = context.value(weight);
    inputs.scalars = {{"lr", cast(rate_, dtype)}, {"step", cast(step_, dtype)}};
    const UpdateStep step = run_update(def_, values_, std::move(inputs));
    for (const auto& [name, value] : step.new_slots()) context.add_update(slots.at(name), value);
    return step.new_variable();
  }

 private:
  UpdatedRows rows() const {
    const bool lazy =
        values_.flag("lazy") && (def_.lazy_with.empty() || values_.number(def_.lazy_with) > 0);
    return lazy ? def_.lazy_rows : def_.rows;
  }

  const OptimizerDef& def_;
  const std::vector<OptimizerArgument> arguments_;
  OptimizerArguments values_;
  std::vector<std::vector<WeightPtr>> slots_;  // of each kind, for each parameter
  WeightPtr shared_;
};

// Sets the argument of this name. Errors: NOT_FOUND, INVALID_ARGUMENT.
void set_argument(std::vector<OptimizerArgument>& arguments, const std::string& name,
                  const Json& json) {
  const auto it = std::ranges::find(arguments, name, &OptimizerArgument::name);
  if (it != arguments.end()) {
    if (it->is_flag()) {
      it->value = JsonType<bool>::from_json(json);
    } else if (it->is_patterns()) {
      it->value = JsonType<NamePatterns>::from_json(json);
    } else {
      it->value = JsonType<double>::from_json(json);
    }
  } else if (json != Json(0) && json != Json(false)) {
    std::vector<std::string> names = {"lr"};
    for (const OptimizerArgument& known : arguments) names.emplace_back(known.name);
    throw not_found("argument '{}' is not known{}", name, did_you_mean(name, names));
  }
}

}  // namespace

OptimizerSpec make_rule_optimizer(const OptimizerDef& def, std::optional<double> learning_rate,
                                  std::optional<double> lr,
                                  std::vector<OptimizerArgument> arguments) {
  if (learning_rate && lr) {
    throw invalid_argument("{}: lr, got {} and {{.lr = {}}}, expected it once", def.name_in_keras(),
                           *learning_rate, *lr);
  }
  const double by_name = lr.value_or(def.keras_learning_rate);
  return OptimizerSpec(
      std::make_shared<RuleOptimizer>(def, learning_rate.value_or(by_name), std::move(arguments)));
}

OptimizerSpec rule_optimizer_from(const OptimizerDef& def, std::vector<OptimizerArgument> arguments,
                                  const Json& config) {
  double lr = def.keras_learning_rate;
  for (const auto& [key, value] : config.items()) {
    if (value.is_null() || key == "name") continue;
    try {
      if (key == "lr" || key == "learning_rate") {
        lr = JsonType<double>::from_json(value);
      } else {
        set_argument(arguments, key, value);
      }
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", def.name_in_keras(), error.message()));
    }
  }
  return make_rule_optimizer(def, lr, std::nullopt, std::move(arguments));
}

OptimizerClass make_rule_class(const OptimizerDef& def, std::vector<OptimizerArgument> arguments) {
  const std::string name(def.name_in_keras());
  std::string alias = name;
  std::ranges::transform(alias, alias.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool has_lazy = std::ranges::find(arguments, std::string_view("lazy"),
                                          &OptimizerArgument::name) != arguments.end();
  return {name, std::move(alias),
          [&def, arguments = std::move(arguments)](const Json& config) {
            return rule_optimizer_from(def, arguments, config);
          },
          &def, has_lazy};
}

}  // namespace systole::keras
