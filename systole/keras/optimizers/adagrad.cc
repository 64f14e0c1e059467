#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class AdaGrad : public OptimizerOf<AdaGrad, optimizers::AdagradOptions> {
 public:
  static constexpr std::string_view kClassName = "Adagrad";
  static constexpr double kLearningRate = 0.01;
  static constexpr std::array<std::string_view, 2> kNewArguments = {"initial_accumulator_value",
                                                                    "epsilon_in_root"};
  static std::vector<Field<optimizers::AdagradOptions>> fields() {
    using O = optimizers::AdagradOptions;
    return {field("epsilon", &O::epsilon),
            field("initial_accumulator_value", &O::initial_accumulator_value),
            field("epsilon_in_root", &O::epsilon_in_root)};
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
    const WeightPtr a =
        slot(squares_, parameter, parameter->shape(), options_.initial_accumulator_value);
    const GradientRows rows(g);
    const Output old_a = context.value(a);
    const Output new_a = rows.of(old_a) + square(rows.values());
    context.add_update(a, rows.put(old_a, new_a));
    const Output p = context.value(parameter);
    const Output root =
        options_.epsilon_in_root ? sqrt(new_a + options_.epsilon) : sqrt(new_a) + options_.epsilon;
    return rows.put(p, rows.of(p) - rate_ * rows.values() / root);
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
