#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class RmsProp : public OptimizerOf<RmsProp, optimizers::RMSpropOptions> {
 public:
  static constexpr std::string_view kClassName = "RMSprop";
  static constexpr double kLearningRate = 0.001;
  static std::vector<Field<optimizers::RMSpropOptions>> fields() {
    using O = optimizers::RMSpropOptions;
    return {hyperparameter_field("rho", &O::rho), field("epsilon", &O::epsilon)};
  }

  RmsProp(double lr, const optimizers::RMSpropOptions& options) : OptimizerOf(lr, options) {}

  std::vector<std::vector<WeightPtr>*> slots() { return {&squares_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all;
    for (const auto* slots : {&squares_}) all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const WeightPtr a = slot(squares_, parameter);
    const Output new_a = context.value(a) * options_.rho + square(g) * (1 - rounded(options_.rho));
    context.add_update(a, new_a);
    return context.value(parameter) - rate_ * g / (sqrt(new_a) + options_.epsilon);
  }

 private:
  std::vector<WeightPtr> squares_;
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
