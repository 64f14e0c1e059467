// Losses by name, as objects or as functions. (tf.keras.losses)
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/json.h"
#include "systole/train/losses/losses.h"

namespace systole::keras {

// (targets, predictions) -> one loss for each example, or for each example and step: all axes but
// the last, over which the mean is taken.
using LossFn = std::function<Output(const Output& y_true, const Output& y_pred)>;

// "binary_crossentropy" or its alias, losses::BinaryCrossentropy({.from_logits = true}), or a
// function. Short names ("mse") count as the long ones. The losses stand in train/losses.
class LossSpec {
 public:
  LossSpec() = default;  // the output is not trained
  // Errors: NOT_FOUND `Unknown loss function:<name>` with the nearest name.
  LossSpec(const char* name) : LossSpec(std::string(name)) {}  // NOLINT
  LossSpec(const std::string& name);                           // NOLINT
  template <std::invocable<Output, Output> F>
  LossSpec(F function) : function_(std::move(function)) {}  // NOLINT
  LossSpec(const LossDef& def, const RuleValues& arguments);

  explicit operator bool() const { return function_ != nullptr; }
  Output operator()(const Output& y_true, const Output& y_pred) const {
    return function_(y_true, y_pred);
  }
  // Keras's full name; "" for a function without one.
  const std::string& name() const { return name_; }
  // The arguments of a loss object that differ from the defaults, as JSON, such as
  // {"from_logits":true}; "" for none.
  const std::string& arguments() const { return arguments_; }
  // Targets are integers of the predictions' shape without the last axis, or with size 1 there.
  bool sparse() const { return name_ == "sparse_categorical_crossentropy"; }

 private:
  LossFn function_;
  std::string name_;
  std::string arguments_;
};

// The loss of a name, or of an object of TensorFlow 2 and Keras 3: {"class_name":
// "BinaryCrossentropy", "config": {"from_logits": true, ...}}, with the arguments of its class.
// Errors: NOT_FOUND as LossSpec(); UNIMPLEMENTED for an argument with another meaning than its
// default.
LossSpec loss_from_json(const Json& json);
// Returns the loss's name, or the object.
Json loss_to_json(const LossSpec& loss);

void register_loss(const std::string& name, LossFn function);
std::vector<std::string> loss_names();

namespace losses {

template <class Rule>
LossSpec LossClass<Rule>::operator()(const typename Rule::KerasOptions& options) const {
  return {Rule::def,
          values_of(options, Rule::kKerasMembers, Rule::def.arguments, RuleFronts::keras)};
}

}  // namespace losses

}  // namespace systole::keras
