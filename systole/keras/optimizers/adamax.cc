#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
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
    const GradientRows rows(g, options_.lazy);
    const Output old_m = context.value(m) * options_.beta_1;
    const Output old_u = context.value(u) * options_.beta_2;
    const Output m_rows = rows.of(old_m) + rows.values() * (1 - rounded(options_.beta_1));
    const Output u_rows = maximum(rows.of(old_u), abs(rows.values()));
    const Output new_m = rows.put(rows.unless_lazy(old_m, context.value(m)), m_rows);
    const Output new_u = rows.put(rows.unless_lazy(old_u, context.value(u)), u_rows);
    context.add_update(m, new_m);
    context.add_update(u, new_u);
    const Output p = context.value(parameter);
    if (rows.lazy()) {
      return rows.put(p, rows.of(p) - corrected_ * m_rows / (u_rows + options_.epsilon));
    }
    return p - corrected_ * new_m / (new_u + options_.epsilon);
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
