// Layers made of a function. (tf.keras.layers.Lambda)
#pragma once

#include <concepts>
#include <functional>

#include "systole/base/error.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

// `arguments`: an object, those of a configuration file.
using LambdaFn =
    std::function<std::vector<Output>(const std::vector<Output>& inputs, const Json& arguments)>;

// Returns `function` as a LambdaFn. It takes an Output, or all inputs and maybe the arguments, and
// returns one Output or several.
template <class F>
LambdaFn lambda_function(F function) {
  const auto list = [](auto result) -> std::vector<Output> {
    if constexpr (std::convertible_to<decltype(result), Output>) {
      return {std::move(result)};
    } else {
      return result;
    }
  };
  if constexpr (std::invocable<F, const Output&>) {
    return [function = std::move(function), list](const std::vector<Output>& inputs, const Json&) {
      if (inputs.size() != 1) {
        throw invalid_argument("Lambda: got {} inputs, expected one, as its function takes",
                               inputs.size());
      }
      return list(function(inputs[0]));
    };
  } else if constexpr (std::invocable<F, const std::vector<Output>&>) {
    return [function = std::move(function), list](const std::vector<Output>& inputs, const Json&) {
      return list(function(inputs));
    };
  } else {
    return [function = std::move(function), list](const std::vector<Output>& inputs,
                                                  const Json& arguments) {
      return list(function(inputs, arguments));
    };
  }
}

// Makes a function known by `name` to Lambda layers and files, in place of an earlier one.
void register_lambda(const std::string& name, LambdaFn function);

struct LambdaOptions {
  // Returns the result's mask from the first input's. Without it, an input with a mask is refused.
  std::function<Output(const Output& mask)> mask = nullptr;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// function(x). It adds no weights: a layer with weights derives from LayerDefinition.
class Lambda : public Layer {
 public:
  // Lambda("double", [](const Output& x) { return x * 2; }): also registers the function, so that
  // the model can be saved and read back by this program.
  template <class F>
  Lambda(const std::string& function_name, F function, LambdaOptions options = {},
         Where where = Where::current())
      : Lambda(function_name, lambda_function(std::move(function)), std::move(options), where) {}
  Lambda(const std::string& function_name, LambdaFn function, LambdaOptions options = {},
         Where where = Where::current());
  // A registered function. Errors: NOT_FOUND `Unknown function:<name>` with the nearest name.
  explicit Lambda(const char* function_name, LambdaOptions options = {},
                  Where where = Where::current());
  // A function without a name: works, but cannot be saved.
  template <class F>
  requires(
      std::invocable<F, const Output&> ||
      std::invocable<F, const std::vector<Output>&>) explicit Lambda(F function,
                                                                     LambdaOptions options = {},
                                                                     Where where = Where::current())
      : Lambda(std::string(), lambda_function(std::move(function)), std::move(options), where) {}
};

}  // namespace systole::keras::layers
