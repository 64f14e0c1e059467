#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/gradient_rows.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class Sgd : public OptimizerOf<Sgd, optimizers::SGDOptions> {
 public:
  static constexpr std::string_view kClassName = "SGD";
  static constexpr double kLearningRate = 0.01;
  static std::vector<Field<optimizers::SGDOptions>> fields() {
    using O = optimizers::SGDOptions;
    return {hyperparameter_field("momentum", &O::momentum), field("nesterov", &O::nesterov)};
  }

  Sgd(double lr, const optimizers::SGDOptions& options) : OptimizerOf(lr, options) {
    if (options.momentum != 0) momentum_ = hyperparameter("momentum", options.momentum);
  }

  std::vector<std::vector<WeightPtr>*> slots() { return {&moments_}; }
  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all = {iterations_};
    all.insert(all.end(), moments_.begin(), moments_.end());
    return all;
  }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const GradientRows rows(g, options_.lazy);
    const Output p = context.value(parameter);
    const Output step = rate_ * rows.values();
    if (!momentum_) return rows.put(p, rows.of(p) - step);
    const WeightPtr moment = slot(moments_, parameter);
    const Output mu = context.value(momentum_);
    const Output old = context.value(moment);
    const Output slower = mu * old;
    const Output changed = rows.of(slower) - step;
    const Output v = rows.put(rows.unless_lazy(slower, old), changed);
    context.add_update(moment, v);
    if (rows.lazy()) {
      const Output move = options_.nesterov ? mu * changed - step : changed;
      return rows.put(p, rows.of(p) + move);
    }
    if (!options_.nesterov) return p + v;
    const Output moved = p + mu * v;
    return rows.put(moved, rows.of(moved) - step);
  }

 private:
  WeightPtr momentum_;
  std::vector<WeightPtr> moments_;
};

}  // namespace

OptimizerClass sgd_class() { return optimizer_class<Sgd, optimizers::SGDOptions>("sgd"); }

OptimizerSpec optimizers::SGD(double lr, const SGDOptions& options) {
  return make_optimizer<Sgd>(lr, options);
}
OptimizerSpec optimizers::SGD(const SGDOptions& options) {
  return make_optimizer<Sgd>(std::nullopt, options);
}

}  // namespace systole::keras
