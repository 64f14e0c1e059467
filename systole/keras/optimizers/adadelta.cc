#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
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
    const GradientRows rows(g, options_.lazy);
    const Output squares = context.value(a);
    const Output old_a = squares * rho;
    const Output new_a = rows.of(old_a) + square(rows.values()) * (1 - rho);
    const Output delta = context.value(d);
    const Output u =
        rows.values() * sqrt(rows.of(delta) + options_.epsilon) / sqrt(new_a + options_.epsilon);
    const Output old_d = delta * rho;
    context.add_update(a, rows.put(rows.unless_lazy(old_a, squares), new_a));
    context.add_update(
        d, rows.put(rows.unless_lazy(old_d, delta), rows.of(old_d) + square(u) * (1 - rho)));
    const Output p = context.value(parameter);
    return rows.put(p, rows.of(p) - rate_ * u);
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
