// What a loss is: a rule, of which each header of this folder defines one or more.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/rule_arguments.h"
#include "systole/graph/core/variable.h"

namespace systole {

// What predictions mean, by which configuration files choose the outputs of a model.
enum class LossHead : uint8_t { softmax, sigmoid, probability, regression };
// What configuration files make of labels.
enum class LossLabels : uint8_t {
  like_predictions,  // the shape and dtype of predictions; [batch] becomes [batch, 1]
  one_hot,           // rows of 0 and 1, made of class numbers
  class_numbers,     // as they are
};

struct LossPair {
  Output labels;
  Output predictions;
};

// Named fields; a field not named is absent.
struct LossDef {
  std::string_view name;                // in tf.losses and in configuration files
  std::string_view keras_name = {};     // empty: Keras has none
  std::string_view keras_aliases = {};  // with spaces between them
  std::string_view keras_class = {};    // empty: keras_name in camel case
  std::string_view doc = {};            // a sentence, for the reference of configuration files
  // The name of its nodes, the loss's by default.
  std::string_view scope = name;
  // Absent: configuration files have no such loss.
  std::optional<LossHead> head = std::nullopt;
  LossLabels labels = LossLabels::like_predictions;
  std::span<const RuleArgument> arguments = {};
  // Checks and converts what tf.losses was given: losses::resolve_pair, or resolve_logits.
  LossPair (*convert)(std::string_view loss, const Input& labels,
                      const Input& predictions) = nullptr;
  // The losses, to be weighted and reduced.
  Output (*value)(const RuleValues& arguments, const Output& labels,
                  const Output& predictions) = nullptr;
  // Keras's form: one loss for each example, or for each example and step. Null: the mean of
  // `value` over the last axis.
  Output (*keras_value)(const RuleValues& arguments, const Output& labels,
                        const Output& predictions) = nullptr;
  // In place of `value`, for a loss that looks at the weights itself; no reduction follows.
  Output (*weighted_value)(const Output& labels, const Output& predictions,
                           const Output& weights) = nullptr;
};

// Base of rules. A rule has
//   static constexpr LossDef def;
//   using Options = ...;             of the function in tf.losses, if there is one
//   static constexpr std::tuple kMembers{&Options::...};  those that are arguments
//   using KerasOptions = ...;        of Keras's class, and the same for its arguments
//   static constexpr std::tuple kKerasMembers{&KerasOptions::...};
//   static constexpr bool kByPosition = false;   an argument has no default
struct LossRule {
  struct KerasOptions {};
  static constexpr std::tuple<> kMembers{};
  static constexpr std::tuple<> kKerasMembers{};
  static constexpr bool kByPosition = true;
};

// All rules, made by the build from this folder.
std::span<const LossDef* const> all_loss_defs();

namespace losses {

enum class Reduction : uint8_t {
  none,                    // the weighted losses, not reduced
  sum,                     // their sum
  sum_over_batch_size,     // the sum divided by the number of losses
  mean,                    // the sum divided by the sum of the weights
  sum_by_nonzero_weights,  // the sum divided by the number of weights that are not 0: the default
};

struct WeightedLossOptions {
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";  // none when empty
};

// The options of a loss without arguments.
struct PredictionLossOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};

// Converts both to f32. Errors: INVALID_ARGUMENT names the loss and both types.
LossPair resolve_pair(std::string_view loss, const Input& labels, const Input& predictions);
// Predictions are floating; labels get their dtype.
LossPair resolve_logits(std::string_view loss, const Input& labels, const Input& predictions);

// The loss as tf.losses has it: weighted, reduced and registered. Errors: INVALID_ARGUMENT for an
// argument out of its range.
Output weighted_loss(const LossDef& def, const RuleValues& arguments, const Input& labels,
                     const Input& predictions, const WeightedLossOptions& options);
// The loss as Keras has it, for each example.
Output keras_loss(const LossDef& def, const RuleValues& arguments, const Output& labels,
                  const Output& predictions);

template <class Options>
const Input& labels_in(const Options& options) {
  if constexpr (requires { options.onehot_labels; }) {
    return options.onehot_labels;
  } else if constexpr (requires { options.multi_class_labels; }) {
    return options.multi_class_labels;
  } else {
    return options.labels;
  }
}

template <class Options>
const Input& predictions_in(const Options& options) {
  if constexpr (requires { options.logits; }) {
    return options.logits;
  } else {
    return options.predictions;
  }
}

// The function of tf.losses: mean_squared_error({.labels = y, .predictions = p}), or (y, p).
template <class Rule>
struct LossFunction {
  using Options = typename Rule::Options;

  Output operator()(const Options& options) const {
    WeightedLossOptions weighted{.weights = options.weights,
                                 .scope = options.scope,
                                 .loss_collection = options.loss_collection};
    if constexpr (requires { options.reduction; }) weighted.reduction = options.reduction;
    return weighted_loss(Rule::def,
                         values_of(options, Rule::kMembers, Rule::def.arguments, RuleFronts::train),
                         labels_in(options), predictions_in(options), weighted);
  }
  Output operator()(const Input& labels, const Input& predictions,
                    const Input& weights = 1.0F) const requires(Rule::kByPosition) {
    return weighted_loss(Rule::def, usual_values(Rule::def.arguments), labels, predictions,
                         {.weights = weights});
  }
};

}  // namespace losses

namespace rules {

// What formulas share.
inline Output mean_last(const Output& x) { return reduce_mean(x, {.axis = -1}); }
inline Output sum_last(const Output& x) { return reduce_sum(x, {.axis = -1}); }

inline constexpr double kKerasEpsilon = 1e-7;
inline Output at_least_epsilon(const Output& x) { return maximum(x, kKerasEpsilon); }
// Away from 0 and 1.
inline Output clip_probability(const Output& p) {
  return clip_by_value(p, kKerasEpsilon, 1 - kKerasEpsilon);
}
// The probabilities of classes, whose sum becomes 1.
inline Output normalized_probabilities(const Output& p) {
  return clip_probability(p / reduce_sum(p, {.axis = -1, .keepdims = true}));
}

// Keras's label smoothing, in f32: towards one half, and towards a share for each class. Errors:
// INVALID_ARGUMENT for an unknown number of classes.
Output smoothed_towards_half(const RuleValues& arguments, const Output& labels);
Output smoothed_towards_classes(const RuleValues& arguments, const Output& labels);
// Class numbers of targets [..] or [.., 1] for predictions [.., classes].
Output class_numbers(const Output& labels, const Output& predictions);
// Keras: max(z, 0) - z t + log(1 + exp(-|z|)), or that of the logit of a probability.
Output binary_entropies(const Output& labels, const Output& predictions, bool from_logits);

inline constexpr RuleArgument kLabelSmoothing{
    .name = "label_smoothing",
    .usual = 0,
    .doc = "Fraction of each label that is spread over all classes.",
    .range = HyperparameterRange::fraction};
inline constexpr RuleArgument kFromLogits{
    .name = "from_logits", .kind = RuleArgumentKind::flag, .usual = 0, .fronts = RuleFronts::keras};

}  // namespace rules

namespace keras {
class LossSpec;
namespace losses {

// Keras's class of a loss: Huber({.delta = 2}). See keras/functions/loss.h.
template <class Rule>
struct LossClass {
  LossSpec operator()(const typename Rule::KerasOptions& options = {}) const;
};

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
};

}  // namespace losses
}  // namespace keras

}  // namespace systole
