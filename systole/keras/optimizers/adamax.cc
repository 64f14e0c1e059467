#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class AdaMax : public OptimizerOf<AdaMax, optimizers::AdamaxOptions> {
 public:
  static constexpr std::string_view kClassName = "Adamax";
  static constexpr double kLearningRate = 0.002;
  static std::vector<Field<optimizers::AdamaxOptions>> fields() {
    using O = optimizers::AdamaxOptions;
    return {hyperparameter_field("beta_1", &O::beta_1), hyperparameter_field("beta_2", &O::beta_2),
            field("epsilon", &O::epsilon)};
  }

  AdaMax(double lr, const optimizers::AdamaxOptions& options) : OptimizerOf(lr, options) {}

  std::vector<std::vector<WeightPtr>*> slots() { return {&m_, &u_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all = {iterations_};
    for (const auto* slots : {&m_, &u_}) all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

 protected:
  void prepare(CallContext&) override {
    corrected_ = rate_ / (1.0F - pow(constant(static_cast<float>(options_.beta_1)), step_));
  }
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const WeightPtr m = slot(m_, parameter);
    const WeightPtr u = slot(u_, parameter);
    const Output new_m = context.value(m) * options_.beta_1 + g * (1 - rounded(options_.beta_1));
    const Output new_u = maximum(context.value(u) * options_.beta_2, abs(g));
    context.add_update(m, new_m);
    context.add_update(u, new_u);
    return context.value(parameter) - corrected_ * new_m / (new_u + options_.epsilon);
  }

 private:
  std::vector<WeightPtr> m_;
  std::vector<WeightPtr> u_;
  Output corrected_;
};

}  // namespace

OptimizerClass adamax_class() {
  return optimizer_class<AdaMax, optimizers::AdamaxOptions>("adamax");
}

OptimizerSpec optimizers::Adamax(double lr, const AdamaxOptions& options) {
  return make_optimizer<AdaMax>(lr, options);
}
OptimizerSpec optimizers::Adamax(const AdamaxOptions& options) {
  return make_optimizer<AdaMax>(std::nullopt, options);
}

}  // namespace systole::keras
