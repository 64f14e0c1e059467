// The log loss of probabilities.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct LogLossOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  double epsilon = 1e-7;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace rules {

struct LogLoss : LossRule {
  using Options = losses::LogLossOptions;
  static constexpr std::tuple kMembers{&Options::epsilon};
  static constexpr std::array kArguments = {RuleArgument{
      .name = "epsilon", .usual = 1e-7, .doc = "Added to the argument of the logarithm."}};

  static Output value(const RuleValues& arguments, const Output& labels,
                      const Output& predictions) {
    const double epsilon = arguments.number("epsilon");
    const Output positive = labels * log(predictions + epsilon);
    const Output negative = (1.0 - labels) * log((1.0 - predictions) + epsilon);
    return -positive - negative;
  }

  static constexpr LossDef def{.name = "log_loss",
                               .doc = "For probabilities: the last layer ends with a sigmoid.",
                               .head = LossHead::probability,
                               .arguments = kArguments,
                               .value = value};
};

}  // namespace rules

namespace losses {
// -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon)
inline constexpr LossFunction<rules::LogLoss> log_loss;
}  // namespace losses

}  // namespace systole
