// Adam with Nesterov momentum. Source: Dozat, 2015,
// http://cs229.stanford.edu/proj2015/054_report.pdf
#pragma once

#include <algorithm>
#include <cmath>

#include "systole/graph/optimizers/adam.h"

namespace systole {
namespace keras::optimizers {

struct NadamOptions {
  std::optional<double> lr = std::nullopt;  // 0.002; or the first argument
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double schedule_decay = 0.004;  // 1 in TensorFlow from 2.11 on
  double clipnorm = 0;
  double clipvalue = 0;
  bool lazy = false;
};

}  // namespace keras::optimizers

namespace rules {

struct Nadam : OptimizerRule {
  using Options = NoOptions;
  using KerasOptions = keras::optimizers::NadamOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    auto rows = moment_arguments<Options, KerasOptions>();
    rows.push_back(
        {.name = "schedule_decay", .keras = {"schedule_decay", &KerasOptions::schedule_decay}});
    return rows;
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments&, const Shape&) {
    return {{.name = "m"}, {.name = "v"}};
  }

  // The product of the momenta of all steps so far.
  static double shared_after(const OptimizerArguments& arguments, int64_t steps) {
    constexpr int64_t kStepsUntilZero = 100'000;  // in f32 the product is zero long before
    const double beta1 = arguments.number("beta1");
    const double decay = arguments.number("schedule_decay");
    float product = 1;
    for (int64_t t = 1; t <= std::min(steps, kStepsUntilZero); ++t) {
      const double power = static_cast<double>(t) * decay;
      product *= static_cast<float>(beta1 * (1 - 0.5 * std::pow(0.96, power)));
    }
    return static_cast<double>(product);
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const auto momentum_of = [&](const Term& step) {
      return u["beta1"] * (1 - 0.5 * pow(0.96, step * u["schedule_decay"]));
    };
    const Term momentum = momentum_of(u.step());
    const Term next_momentum = momentum_of(u.step() + 1);
    const Term product = u.assign("m_schedule", u.slot("m_schedule") * momentum);
    const auto [m, v] = assign_moments(u);
    const Term mean = next_momentum * (m / (1 - product * next_momentum));
    const Term step = mean + (1 - momentum) * (g / (1 - product));
    const Term v_hat = v / (1 - u.power("beta2"));
    u.assign(u.variable() - u.rate() * step / (sqrt(v_hat) + u["epsilon"]));
  }

  static constexpr OptimizerDef def{
      .name = "Nadam",
      .keras_learning_rate = 0.002,
      .keras_2_11_learning_rate = 0.001,
      .slots = slots,
      .shared_slot = "m_schedule",
      .shared_initial = 1,
      .shared_after = shared_after,
      .update = update,
      // The classes of TensorFlow 2.0 to 2.10 let all moments decay, and move only these rows.
      .lazy_rows = UpdatedRows::touched_variable,
      .keras_interleaved_slots = 2};
};

}  // namespace rules

namespace keras::optimizers {
using Nadam = OptimizerSpecOf<rules::Nadam>;
}  // namespace keras::optimizers

}  // namespace systole
