#include <algorithm>
#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class NesterovAdam : public OptimizerOf<NesterovAdam, optimizers::NadamOptions> {
 public:
  static constexpr std::string_view kClassName = "Nadam";
  static constexpr double kLearningRate = 0.002;
  static std::vector<Field<optimizers::NadamOptions>> fields() {
    using O = optimizers::NadamOptions;
    return {hyperparameter_field("beta_1", &O::beta_1), hyperparameter_field("beta_2", &O::beta_2),
            field("epsilon", &O::epsilon), field("schedule_decay", &O::schedule_decay)};
  }

  NesterovAdam(double lr, const optimizers::NadamOptions& options) : OptimizerOf(lr, options) {
    product_ = hyperparameter("m_schedule", 1);
  }

  std::vector<std::vector<WeightPtr>*> slots() { return {&m_, &v_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all = {iterations_};
    for (const auto* slots : {&m_, &v_}) all.insert(all.end(), slots->begin(), slots->end());
    return all;
  }

  // The product of the momenta of all steps so far.
  void restored() override {
    constexpr int64_t kStepsUntilZero = 100'000;  // in f32 the product is zero long before
    const int64_t steps = std::min(iterations_->value().item<int64_t>(), kStepsUntilZero);
    float product = 1;
    for (int64_t t = 1; t <= steps; ++t) {
      const double power = static_cast<double>(t) * options_.schedule_decay;
      product *= static_cast<float>(options_.beta_1 * (1 - 0.5 * std::pow(0.96, power)));
    }
    product_->set_value(Tensor(product));
  }

 protected:
  void prepare(CallContext& context) override {
    const Output base = constant(0.96F);
    const double decay = options_.schedule_decay;
    momentum_ = options_.beta_1 * (1.0F - 0.5F * pow(base, step_ * decay));
    next_momentum_ = options_.beta_1 * (1.0F - 0.5F * pow(base, (step_ + 1.0F) * decay));
    schedule_ = context.value(product_) * momentum_;
    context.add_update(product_, schedule_);
  }
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const WeightPtr m = slot(m_, parameter);
    const WeightPtr v = slot(v_, parameter);
    const GradientRows rows(g, options_.lazy);
    const Output old_m = context.value(m) * options_.beta_1;
    const Output old_v = context.value(v) * options_.beta_2;
    const Output new_m =
        rows.put(old_m, rows.of(old_m) + rows.values() * (1 - rounded(options_.beta_1)));
    const Output new_v =
        rows.put(old_v, rows.of(old_v) + square(rows.values()) * (1 - rounded(options_.beta_2)));
    context.add_update(m, new_m);
    context.add_update(v, new_v);
    const Output v_hat = new_v / (1.0F - pow(constant(static_cast<float>(options_.beta_2)), step_));
    const Output m_hat = new_m / (1.0F - schedule_ * next_momentum_);
    const Output by_m = next_momentum_ * m_hat;
    const Output g_hat = rows.values() / (1.0F - schedule_);
    const Output step = rows.put(by_m, (1.0F - momentum_) * g_hat + rows.of(by_m));
    const Output move = rate_ * step / (sqrt(v_hat) + options_.epsilon);
    const Output p = context.value(parameter);
    // The classes of TensorFlow 2.0 to 2.10 let all moments decay, and move only these rows.
    return rows.lazy() ? rows.put(p, rows.of(p) - rows.of(move)) : p - move;
  }

 private:
  std::vector<WeightPtr> m_;
  std::vector<WeightPtr> v_;
  WeightPtr product_;  // of the momenta so far
  Output momentum_;
  Output next_momentum_;
  Output schedule_;
};

}  // namespace

OptimizerClass nadam_class() {
  return optimizer_class<NesterovAdam, optimizers::NadamOptions>("nadam");
}

OptimizerSpec optimizers::Nadam(double lr, const NadamOptions& options) {
  return make_optimizer<NesterovAdam>(lr, options);
}
OptimizerSpec optimizers::Nadam(const NadamOptions& options) {
  return make_optimizer<NesterovAdam>(std::nullopt, options);
}

}  // namespace systole::keras
