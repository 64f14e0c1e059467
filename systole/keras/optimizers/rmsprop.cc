#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class RmsProp : public OptimizerOf<RmsProp, optimizers::RMSpropOptions> {
 public:
  static constexpr std::string_view kClassName = "RMSprop";
  static constexpr double kLearningRate = 0.001;
  static constexpr std::array<std::string_view, 3> kNewArguments = {"momentum", "centered",
                                                                    "epsilon_in_root"};
  static std::vector<Field<optimizers::RMSpropOptions>> fields() {
    using O = optimizers::RMSpropOptions;
    return {hyperparameter_field("rho", &O::rho), field("epsilon", &O::epsilon),
            hyperparameter_field("momentum", &O::momentum), field("centered", &O::centered),
            field("epsilon_in_root", &O::epsilon_in_root)};
  }

  RmsProp(double lr, const optimizers::RMSpropOptions& options) : OptimizerOf(lr, options) {}

  std::vector<std::vector<WeightPtr>*> slots() { return {&squares_, &momenta_, &means_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all;
    for (const auto* slots : {&squares_, &momenta_, &means_})
      all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const WeightPtr a = slot(squares_, parameter);
    const GradientRows rows(g, options_.lazy && options_.momentum > 0);
    const Output old_a = context.value(a) * options_.rho;
    const Output new_a = rows.of(old_a) + square(rows.values()) * (1 - rounded(options_.rho));
    context.add_update(a, rows.put(rows.unless_lazy(old_a, context.value(a)), new_a));
    const Output step = rate_ * rows.values() / root_of(context, parameter, rows, new_a);
    const Output p = context.value(parameter);
    if (options_.momentum == 0) return rows.put(p, rows.of(p) - step);
    const WeightPtr moment = slot(momenta_, parameter);
    const Output old_v = context.value(moment) * rounded(options_.momentum);
    const Output changed = rows.of(old_v) + step;
    const Output v = rows.put(rows.unless_lazy(old_v, context.value(moment)), changed);
    context.add_update(moment, v);
    return rows.lazy() ? rows.put(p, rows.of(p) - changed) : p - v;
  }

 private:
  // The square root that steps are divided by. `squares`: the average of squares, of the rows.
  Output root_of(CallContext& context, const WeightPtr& parameter, const GradientRows& rows,
                 const Output& squares) {
    Output variance = squares;
    if (options_.centered) {
      const WeightPtr mean = slot(means_, parameter);
      const Output old = context.value(mean) * options_.rho;
      const Output changed = rows.of(old) + rows.values() * (1 - rounded(options_.rho));
      context.add_update(mean, rows.put(rows.unless_lazy(old, context.value(mean)), changed));
      variance = squares - square(changed);
    }
    const bool inside = options_.epsilon_in_root || options_.momentum > 0;
    return inside ? sqrt(variance + options_.epsilon) : sqrt(variance) + options_.epsilon;
  }

  std::vector<WeightPtr> squares_;
  std::vector<WeightPtr> momenta_;
  std::vector<WeightPtr> means_;
};

}  // namespace

OptimizerClass rmsprop_class() {
  return optimizer_class<RmsProp, optimizers::RMSpropOptions>("rmsprop");
}

OptimizerSpec optimizers::RMSprop(double lr, const RMSpropOptions& options) {
  return make_optimizer<RmsProp>(lr, options);
}
OptimizerSpec optimizers::RMSprop(const RMSpropOptions& options) {
  return make_optimizer<RmsProp>(std::nullopt, options);
}

}  // namespace systole::keras
