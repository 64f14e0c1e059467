// Activations by name or as functions. (tf.keras.activations)
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/json.h"

namespace systole::keras {

template <class T>
struct JsonType;

using ActivationFn = std::function<Output(const Output& x)>;

// What a layer applies to its result: "relu", a function, or nothing ("linear").
class Activation {
 public:
  Activation() = default;
  Activation(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): None
  // Errors: NOT_FOUND `Unknown activation function:<name>` with the nearest name.
  Activation(const char* name) : Activation(std::string(name)) {}  // NOLINT
  Activation(std::string name);                                    // NOLINT
  // A function without a name: works, but cannot be saved. register_activation() gives a name.
  template <std::invocable<Output> F>
  Activation(F function) : function_(std::move(function)), name_("") {}  // NOLINT

  Output operator()(const Output& x) const { return function_ ? function_(x) : x; }
  // "linear" for none, "" for a function without a name.
  const std::string& name() const { return name_; }

 private:
  ActivationFn function_;
  std::string name_ = "linear";
};

// The hard_sigmoid of Keras 3, relu6(x + 3) / 6. That of Keras 1 and 2 is clip(0.2 x + 0.5, 0, 1).
inline constexpr std::string_view kHardSigmoidOfKeras3 = "hard_sigmoid_keras3";

// Makes `function` known by `name` to layers and files. Errors: ALREADY_EXISTS.
void register_activation(std::string name, ActivationFn function);
std::vector<std::string> activation_names();

template <>
struct JsonType<Activation> {
  static constexpr std::string_view name = "the name of an activation";
  static Json to_json(const Activation& activation);
  static Activation from_json(const Json& json);
};

}  // namespace systole::keras
