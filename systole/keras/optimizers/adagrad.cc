#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class AdaGrad : public OptimizerOf<AdaGrad, optimizers::AdagradOptions> {
 public:
  static constexpr std::string_view kClassName = "Adagrad";
  static constexpr double kLearningRate = 0.01;
  static std::vector<Field<optimizers::AdagradOptions>> fields() {
    using O = optimizers::AdagradOptions;
    return {field("epsilon", &O::epsilon)};
  }

  AdaGrad(double lr, const optimizers::AdagradOptions& options) : OptimizerOf(lr, options) {}

  std::vector<std::vector<WeightPtr>*> slots() { return {&squares_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all;
    for (const auto* slots : {&squares_}) all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const WeightPtr a = slot(squares_, parameter);
    const Output new_a = context.value(a) + square(g);
    context.add_update(a, new_a);
    return context.value(parameter) - rate_ * g / (sqrt(new_a) + options_.epsilon);
  }

 private:
  std::vector<WeightPtr> squares_;
};

}  // namespace

OptimizerClass adagrad_class() {
  return optimizer_class<AdaGrad, optimizers::AdagradOptions>("adagrad");
}

OptimizerSpec optimizers::Adagrad(double lr, const AdagradOptions& options) {
  return make_optimizer<AdaGrad>(lr, options);
}
OptimizerSpec optimizers::Adagrad(const AdagradOptions& options) {
  return make_optimizer<AdaGrad>(std::nullopt, options);
}

}  // namespace systole::keras
