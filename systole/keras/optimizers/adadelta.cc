#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class AdaDelta : public OptimizerDefinition {
 public:
  AdaDelta(double lr, const optimizers::AdadeltaOptions& options) : options_(options) {
    lr_ = hyperparameter("lr", lr);
    if (options.decay > 0) decay_ = hyperparameter("decay", options.decay);
    clipnorm_ = options.clipnorm;
    clipvalue_ = options.clipvalue;
  }

  std::string class_name() const override { return "Adadelta"; }
  Json config() const override {
    Json json = {{"lr", rounded(lr_->value().item<float>())},
                 {"rho", rounded(options_.rho)},
                 {"epsilon", options_.epsilon},
                 {"decay", rounded(options_.decay)}};
    if (clipnorm_ > 0) json["clipnorm"] = clipnorm_;
    if (clipvalue_ > 0) json["clipvalue"] = clipvalue_;
    return json;
  }

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
  const optimizers::AdadeltaOptions options_;
  std::vector<WeightPtr> squares_;
  std::vector<WeightPtr> deltas_;
};

}  // namespace

OptimizerClass adadelta_class() {
  return {"Adadelta", "adadelta", [](const Json& c) {
            return optimizers::Adadelta(number(c, "lr", 1),
                                        {.rho = number(c, "rho", 0.95),
                                         .epsilon = number(c, "epsilon", 1e-7),
                                         .decay = number(c, "decay", 0),
                                         .clipnorm = number(c, "clipnorm", 0),
                                         .clipvalue = number(c, "clipvalue", 0)});
          }};
}

OptimizerSpec optimizers::Adadelta(double lr, const AdadeltaOptions& options) {
  return OptimizerSpec(std::make_shared<AdaDelta>(lr, options));
}

}  // namespace systole::keras
