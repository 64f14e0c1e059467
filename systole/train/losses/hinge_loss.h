// Hinge losses: tf.losses has labels 0 and 1, Keras -1 and 1.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct HingeLossOptions {
  Input labels;
  Input logits;
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace keras::losses {
struct HingeOptions {
  bool binary_labels = false;  // targets of a batch that are all 0 or 1 stand for -1 and 1
};
}  // namespace keras::losses

namespace rules {

inline constexpr std::array kHingeArguments = {RuleArgument{.name = "binary_labels",
                                                            .kind = RuleArgumentKind::flag,
                                                            .usual = 0,
                                                            .fronts = RuleFronts::keras}};

// max(0, 1 - labels * predictions), labels -1 or 1.
inline Output keras_margin(const RuleValues& arguments, const Output& labels,
                           const Output& predictions) {
  Output signs = labels;
  if (arguments.flag("binary_labels")) {
    const Output binary = reduce_all(logical_or(equal(labels, 0.0F), equal(labels, 1.0F)));
    const Output factor = cast(binary, labels.dtype());
    signs = labels * (1.0F + factor) - factor;
  }
  return maximum(1.0F - signs * predictions, 0.0F);
}

struct HingeLoss : LossRule {
  using Options = losses::HingeLossOptions;
  using KerasOptions = keras::losses::HingeOptions;
  static constexpr std::tuple kKerasMembers{&KerasOptions::binary_labels};

  static Output value(const RuleValues&, const Output& labels, const Output& logits) {
    return relu(1.0 - (labels * 2.0 - 1.0) * logits);
  }
  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    return mean_last(keras_margin(arguments, labels, predictions));
  }

  static constexpr LossDef def{.name = "hinge_loss",
                               .keras_name = "hinge",
                               .doc = "Independent classes, with a margin; labels are 0 or 1.",
                               .head = LossHead::sigmoid,
                               .arguments = kHingeArguments,
                               .value = value,
                               .keras_value = keras_value};
};

struct SquaredHinge : LossRule {
  using KerasOptions = keras::losses::HingeOptions;
  static constexpr std::tuple kKerasMembers{&KerasOptions::binary_labels};

  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    return mean_last(square(keras_margin(arguments, labels, predictions)));
  }

  static constexpr LossDef def{.name = "squared_hinge",
                               .keras_name = "squared_hinge",
                               .arguments = kHingeArguments,
                               .keras_value = keras_value};
};

// max(0, the largest prediction of another class - that of the label + 1), labels one-hot.
struct CategoricalHinge : LossRule {
  static Output keras_value(const RuleValues&, const Output& labels, const Output& predictions) {
    const Output others = reduce_max((1.0F - labels) * predictions, {.axis = -1});
    return maximum(others - sum_last(labels * predictions) + 1.0F, 0.0F);
  }

  static constexpr LossDef def{
      .name = "categorical_hinge", .keras_name = "categorical_hinge", .keras_value = keras_value};
};

}  // namespace rules

namespace losses {
// max(0, 1 - (2 * labels - 1) * logits), labels 0 or 1.
inline constexpr LossFunction<rules::HingeLoss> hinge_loss;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::HingeLoss> Hinge;  // NOLINT(readability-identifier-naming)
inline constexpr LossClass<rules::SquaredHinge>
    SquaredHinge;  // NOLINT(readability-identifier-naming)
inline constexpr LossClass<rules::CategoricalHinge>
    CategoricalHinge;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
