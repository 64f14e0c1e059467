// Focal losses: cross entropies that count easy examples less. Source: Lin et al., arXiv
// 1708.02002.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace keras::losses {
struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;  // alpha is the weight of class 1, 1 - alpha of class 0
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};
struct CategoricalFocalCrossentropyOptions {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};
}  // namespace keras::losses

namespace rules {

inline constexpr RuleArgument kFocalGamma{
    .name = "gamma", .usual = 2, .doc = "How much less easy examples count."};

// (1 - p)^gamma * cross entropy, with p the probability of the label.
struct BinaryFocalCrossentropy : LossRule {
  using KerasOptions = keras::losses::BinaryFocalCrossentropyOptions;
  static constexpr std::tuple kKerasMembers{
      &KerasOptions::apply_class_balancing, &KerasOptions::alpha, &KerasOptions::gamma,
      &KerasOptions::label_smoothing, &KerasOptions::from_logits};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "apply_class_balancing",
                   .kind = RuleArgumentKind::flag,
                   .usual = 0,
                   .doc = "Weigh the classes by alpha."},
      RuleArgument{.name = "alpha",
                   .usual = 0.25,
                   .doc = "Weight of class 1; that of class 0 is 1 - alpha.",
                   .range = HyperparameterRange::fraction},
      kFocalGamma, kLabelSmoothing, kFromLogits};

  static Output losses_of(const RuleValues& arguments, const Output& given,
                          const Output& predictions, bool from_logits) {
    const Output labels = smoothed_towards_half(arguments, given);
    const Output p = from_logits ? sigmoid(predictions) : predictions;
    const Output of_label = labels * p + (1.0F - labels) * (1.0F - p);
    const Output focal = pow(1.0F - of_label, arguments.number("gamma")) *
                         binary_entropies(labels, predictions, from_logits);
    if (!arguments.flag("apply_class_balancing")) return focal;
    const double alpha = arguments.number("alpha");
    return (labels * alpha + (1.0F - labels) * (1 - alpha)) * focal;
  }
  static Output value(const RuleValues& arguments, const Output& labels, const Output& logits) {
    return losses_of(arguments, labels, logits, true);
  }
  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    return mean_last(losses_of(arguments, labels, predictions, arguments.flag("from_logits")));
  }

  static constexpr LossDef def{
      .name = "binary_focal_crossentropy",
      .keras_name = "binary_focal_crossentropy",
      .doc = "Independent classes, of which easy examples count less; labels are 0 or 1.",
      .head = LossHead::sigmoid,
      .arguments = kArguments,
      .value = value,
      .keras_value = keras_value};
};

// alpha * (1 - p)^gamma * cross entropy, with p the probability of the class; labels one-hot.
struct CategoricalFocalCrossentropy : LossRule {
  using KerasOptions = keras::losses::CategoricalFocalCrossentropyOptions;
  static constexpr std::tuple kKerasMembers{&KerasOptions::alpha, &KerasOptions::gamma,
                                            &KerasOptions::label_smoothing,
                                            &KerasOptions::from_logits};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "alpha", .usual = 0.25, .doc = "Weight of all classes."}, kFocalGamma,
      kLabelSmoothing, kFromLogits};

  static Output losses_of(const RuleValues& arguments, const Output& given,
                          const Output& predictions, bool from_logits) {
    const Output labels = smoothed_towards_classes(arguments, given);
    const Output p = normalized_probabilities(from_logits ? softmax(predictions) : predictions);
    const Output entropies = negative(labels) * log(p);
    return sum_last(pow(1.0F - p, arguments.number("gamma")) * arguments.number("alpha") *
                    entropies);
  }
  static Output value(const RuleValues& arguments, const Output& labels, const Output& logits) {
    return losses_of(arguments, labels, logits, true);
  }
  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    return losses_of(arguments, labels, predictions, arguments.flag("from_logits"));
  }

  static constexpr LossDef def{
      .name = "categorical_focal_crossentropy",
      .keras_name = "categorical_focal_crossentropy",
      .doc =
          "One of several classes, of which easy examples count less; labels are class numbers "
          "or one-hot rows.",
      .head = LossHead::softmax,
      .labels = LossLabels::one_hot,
      .arguments = kArguments,
      .value = value,
      .keras_value = keras_value};
};

}  // namespace rules

namespace keras::losses {
inline constexpr LossClass<rules::BinaryFocalCrossentropy>
    BinaryFocalCrossentropy;  // NOLINT(readability-identifier-naming)
inline constexpr LossClass<rules::CategoricalFocalCrossentropy>
    CategoricalFocalCrossentropy;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
