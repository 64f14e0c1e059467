#include "systole/keras/functions/activation.h"

#include <map>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/keras/base/fields.h"

namespace systole::keras {
namespace {

// clip(0.2 x + 0.5, 0, 1)
Output hard_sigmoid(const Output& x) { return clip_by_value(x * 0.2F + 0.5F, 0.0F, 1.0F); }
// What Keras 3 calls hard_sigmoid.
Output hard_sigmoid_of_keras3(const Output& x) { return relu6(x + 3.0F) / 6.0F; }
Output swish(const Output& x) { return x * sigmoid(x); }

std::map<std::string, ActivationFn>& activation_table() {
  static std::map<std::string, ActivationFn> functions = {
      {"linear", [](const Output& x) { return x; }},
      {"softmax", [](const Output& x) { return softmax(x); }},
      {"elu", [](const Output& x) { return elu(x); }},
      {"selu", [](const Output& x) { return selu(x); }},
      {"softplus", [](const Output& x) { return softplus(x); }},
      {"softsign", [](const Output& x) { return softsign(x); }},
      {"relu", [](const Output& x) { return relu(x); }},
      {"relu6", [](const Output& x) { return relu6(x); }},
      {"tanh", [](const Output& x) { return tanh(x); }},
      {"sigmoid", [](const Output& x) { return sigmoid(x); }},
      {"exponential", [](const Output& x) { return exp(x); }},
      {"hard_sigmoid", hard_sigmoid},
      {std::string(kHardSigmoidOfKeras3), hard_sigmoid_of_keras3},
      {"swish", swish},
      {"silu", swish},
      {"gelu", [](const Output& x) { return gelu(x); }},
      {"mish", [](const Output& x) { return x * tanh(softplus(x)); }},
  };
  return functions;
}

}  // namespace

Activation::Activation(std::string name) {
  const auto it = activation_table().find(name);
  if (it == activation_table().end()) {
    throw not_found("Unknown activation function:{}{}", name,
                    did_you_mean(name, activation_names()));
  }
  name_ = std::move(name);
  if (name_ != "linear") function_ = it->second;
}

void register_activation(std::string name, ActivationFn function) {
  if (!activation_table().emplace(name, std::move(function)).second) {
    throw make_error(Code::already_exists, "activation '{}' is registered already", name);
  }
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : activation_table()) names.push_back(name);
  return names;
}

Json JsonType<Activation>::to_json(const Activation& activation) {
  if (activation.name().empty()) {
    throw make_error(Code::unimplemented,
                     "activation: a function without a name cannot be saved, expected one that "
                     "register_activation() named");
  }
  return activation.name();
}

Activation JsonType<Activation>::from_json(const Json& json) {
  if (json.is_null()) return {};
  if (!json.is_string()) throw wrong_json(json, name);
  return json.get<std::string>();
}

}  // namespace systole::keras
