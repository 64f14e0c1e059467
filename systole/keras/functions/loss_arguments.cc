// Losses as objects with arguments.
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/keras/engine/layer.h"
#include "systole/keras/functions/loss.h"

namespace systole::keras {
namespace {

constexpr const char* kFromLogits = "from_logits";
constexpr const char* kLabelSmoothing = "label_smoothing";
constexpr const char* kDelta = "delta";
constexpr const char* kBinaryLabels = "binary_labels";

// Names of classes that are not their snake_case.
const std::map<std::string, std::string>& loss_class_names() {
  static const std::map<std::string, std::string> names = {
      {"KLDivergence", "kullback_leibler_divergence"}, {"LogCosh", "logcosh"}};
  return names;
}

// Which arguments the loss of this name has.
std::set<std::string> loss_argument_names(const std::string& name) {
  if (name == "categorical_crossentropy" || name == "binary_crossentropy") {
    return {kFromLogits, kLabelSmoothing};
  }
  if (name == "sparse_categorical_crossentropy") return {kFromLogits};
  if (name == "huber") return {kDelta};
  if (name == "hinge" || name == "squared_hinge") return {kBinaryLabels};
  return {};
}

// Whether an argument says only what is so here.
bool says_nothing(const std::string& key, const Json& value) {
  static const std::set<std::string> kReductions = {"auto", "sum_over_batch_size"};
  if (key == "name" || key == "fn" || key == "dtype" || value.is_null()) return true;
  if (key == "reduction")
    return value.is_string() && kReductions.contains(value.get<std::string>());
  if (key == "axis") return value == -1;
  if (key == kDelta) return value == 1.0;
  return value == false || value == 0;
}

// Arguments other than the defaults. Errors: UNIMPLEMENTED.
Json used_arguments(const std::string& name, const Json& config) {
  const std::set<std::string> known = loss_argument_names(name);
  Json used = Json::object();
  for (const auto& [key, value] : config.items()) {
    if (says_nothing(key, value)) continue;
    if (!known.contains(key)) {
      throw unimplemented("loss {}: argument '{}', got {}, expected its default", name, key,
                          value.dump());
    }
    used[key] = value;
  }
  return used;
}

Output smoothed_labels(const std::string& name, const Output& t, double smoothing) {
  const auto s = static_cast<float>(smoothing);
  if (name == "binary_crossentropy") return t * (1 - s) + 0.5F * s;
  const int64_t classes = t.shape()[-1];
  if (classes < 1)
    throw invalid_argument("loss {}: label_smoothing, got targets of unknown size", name);
  return t * (1 - s) + s / static_cast<float>(classes);
}

Output from_logits(const std::string& name, const Output& t, const Output& p) {
  if (name == "binary_crossentropy") {
    // max(z, 0) - z t + log(1 + exp(-|z|))
    return reduce_mean(relu(p) - p * t + log1p(exp(negative(abs(p)))), {.axis = -1});
  }
  if (name == "categorical_crossentropy") {
    return softmax_cross_entropy_with_logits({.labels = t, .logits = p});
  }
  const bool column = t.shape().rank() == p.shape().rank();
  const Output labels = cast(column ? squeeze(t, {.axis = {-1}}) : t, DType::s32);
  return sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = p});
}

// Targets of a batch in which all are 0 or 1 become -1 and 1.
Output signed_labels(const Output& t) {
  const Output binary = reduce_all(logical_or(equal(t, 0.0F), equal(t, 1.0F)));
  const Output factor = cast(binary, t.dtype());
  return t * (1.0F + factor) - factor;
}

Output huber_of(double delta, const Output& t, const Output& p) {
  const auto d = static_cast<float>(delta);
  const Output error = abs(p - t);
  const Output small = minimum(error, d);
  return reduce_mean(small * (error - small * 0.5F), {.axis = -1});
}

LossFn with_arguments(const std::string& name, const Json& arguments, LossFn plain) {
  const bool logits = arguments.value(kFromLogits, false);
  const double smoothing = arguments.value(kLabelSmoothing, 0.0);
  if (name == "huber") {
    return [delta = arguments.value(kDelta, 1.0)](const Output& t, const Output& p) {
      return huber_of(delta, t, p);
    };
  }
  if (arguments.value(kBinaryLabels, false)) {
    return [plain = std::move(plain)](const Output& t, const Output& p) {
      return plain(signed_labels(t), p);
    };
  }
  return [=, plain = std::move(plain)](const Output& given, const Output& p) {
    const Output t = smoothing == 0 ? given : smoothed_labels(name, given, smoothing);
    return logits ? from_logits(name, t, p) : plain(t, p);
  };
}

}  // namespace

LossSpec loss_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string()) {
    throw invalid_argument("got {}, expected the name of a loss", json.dump());
  }
  const Json config = json.value("config", Json::object());
  if (config.is_string()) return config.get<std::string>();  // of a function
  const auto class_name = json["class_name"].get<std::string>();
  const auto it = loss_class_names().find(class_name);
  std::string name = it == loss_class_names().end() ? snake_case(class_name) : it->second;
  // TensorFlow 2 wraps functions.
  if (class_name == "LossFunctionWrapper") name = config.value("fn", config.value("name", ""));
  LossSpec loss(name);
  const Json arguments = used_arguments(loss.name_, config);
  if (arguments.empty()) return loss;
  loss.function_ = with_arguments(loss.name_, arguments, std::move(loss.function_));
  loss.arguments_ = arguments.dump();
  return loss;
}

Json loss_to_json(const LossSpec& loss) {
  if (loss.arguments().empty()) return loss.name();
  std::string class_name;
  bool start = true;
  for (const char c : loss.name()) {
    class_name += start && c != '_' ? static_cast<char>(std::toupper(c)) : c;
    if (c == '_') class_name.pop_back();
    start = c == '_';
  }
  return {{"class_name", class_name}, {"config", Json::parse(loss.arguments())}};
}

}  // namespace systole::keras
