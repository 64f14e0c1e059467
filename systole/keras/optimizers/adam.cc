#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class Adam : public OptimizerOf<Adam, optimizers::AdamOptions> {
 public:
  static constexpr std::string_view kClassName = "Adam";
  static constexpr double kLearningRate = 0.001;
  static std::vector<Field<optimizers::AdamOptions>> fields() {
    using O = optimizers::AdamOptions;
    return {hyperparameter_field("beta_1", &O::beta_1), hyperparameter_field("beta_2", &O::beta_2),
            field("epsilon", &O::epsilon), field("amsgrad", &O::amsgrad)};
  }

  Adam(double lr, const optimizers::AdamOptions& options) : OptimizerOf(lr, options) {
    beta_1_ = hyperparameter("beta_1", options.beta_1);
    beta_2_ = hyperparameter("beta_2", options.beta_2);
  }

  std::vector<std::vector<WeightPtr>*> slots() { return {&m_, &v_, &vhat_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all = {iterations_};
    for (const auto* slots : {&m_, &v_, &vhat_})
      all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

 protected:
  void prepare(CallContext& context) override {
    const Output b1 = context.value(beta_1_);
    const Output b2 = context.value(beta_2_);
    corrected_ = rate_ * (sqrt(1.0F - pow(b2, step_)) / (1.0F - pow(b1, step_)));
  }

  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const Output b1 = context.value(beta_1_);
    const Output b2 = context.value(beta_2_);
    const WeightPtr m = slot(m_, parameter);
    const WeightPtr v = slot(v_, parameter);
    const GradientRows rows(g);
    const Output old_m = b1 * context.value(m);
    const Output old_v = b2 * context.value(v);
    const Output new_m = rows.put(old_m, rows.of(old_m) + (1.0F - b1) * rows.values());
    const Output new_v = rows.put(old_v, rows.of(old_v) + (1.0F - b2) * square(rows.values()));
    context.add_update(m, new_m);
    context.add_update(v, new_v);
    // Files have a slot for the maximum also where it is not in use, of one element.
    const WeightPtr vhat =
        options_.amsgrad ? slot(vhat_, parameter) : slot(vhat_, parameter, Shape{1});
    Output largest = new_v;
    if (options_.amsgrad) {
      largest = maximum(context.value(vhat), new_v);
      context.add_update(vhat, largest);
    }
    return context.value(parameter) - corrected_ * new_m / (sqrt(largest) + options_.epsilon);
  }

 private:
  WeightPtr beta_1_;
  WeightPtr beta_2_;
  std::vector<WeightPtr> m_;
  std::vector<WeightPtr> v_;
  std::vector<WeightPtr> vhat_;
  Output corrected_;
};

}  // namespace

OptimizerClass adam_class() {
  return optimizer_class<systole::keras::Adam, optimizers::AdamOptions>("adam");
}

OptimizerSpec optimizers::Adam(double lr, const AdamOptions& options) {
  return make_optimizer<systole::keras::Adam>(lr, options);
}
OptimizerSpec optimizers::Adam(const AdamOptions& options) {
  return make_optimizer<systole::keras::Adam>(std::nullopt, options);
}

}  // namespace systole::keras
