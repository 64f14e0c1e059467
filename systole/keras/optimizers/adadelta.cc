#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class AdaDelta : public OptimizerOf<AdaDelta, optimizers::AdadeltaOptions> {
 public:
  static constexpr std::string_view kClassName = "Adadelta";
  static constexpr double kLearningRate = 1;
  static std::vector<Field<optimizers::AdadeltaOptions>> fields() {
    using O = optimizers::AdadeltaOptions;
    return {hyperparameter_field("rho", &O::rho), field("epsilon", &O::epsilon)};
  }

  AdaDelta(double lr, const optimizers::AdadeltaOptions& options) : OptimizerOf(lr, options) {}

  std::vector<std::vector<WeightPtr>*> slots() { return {&squares_, &deltas_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all;
    for (const auto* slots : {&squares_, &deltas_})
      all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const WeightPtr a = slot(squares_, parameter);
    const WeightPtr d = slot(deltas_, parameter);
    const double rho = rounded(options_.rho);
    const Output new_a = context.value(a) * rho + square(g) * (1 - rho);
    const Output delta = context.value(d);
    const Output u = g * sqrt(delta + options_.epsilon) / sqrt(new_a + options_.epsilon);
    context.add_update(a, new_a);
    context.add_update(d, delta * rho + square(u) * (1 - rho));
    return context.value(parameter) - rate_ * u;
  }

 private:
  std::vector<WeightPtr> squares_;
  std::vector<WeightPtr> deltas_;
};

}  // namespace

OptimizerClass adadelta_class() {
  return optimizer_class<AdaDelta, optimizers::AdadeltaOptions>("adadelta");
}

OptimizerSpec optimizers::Adadelta(double lr, const AdadeltaOptions& options) {
  return make_optimizer<AdaDelta>(lr, options);
}
OptimizerSpec optimizers::Adadelta(const AdadeltaOptions& options) {
  return make_optimizer<AdaDelta>(std::nullopt, options);
}

}  // namespace systole::keras
