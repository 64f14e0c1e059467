#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class RmsProp : public OptimizerDefinition {
 public:
  RmsProp(double lr, const optimizers::RMSpropOptions& options) : options_(options) {
    lr_ = hyperparameter("lr", lr);
    if (options.decay > 0) decay_ = hyperparameter("decay", options.decay);
    clipnorm_ = options.clipnorm;
    clipvalue_ = options.clipvalue;
  }

  std::string class_name() const override { return "RMSprop"; }
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
  const optimizers::RMSpropOptions options_;
  std::vector<WeightPtr> squares_;
};

}  // namespace

OptimizerClass rmsprop_class() {
  return {"RMSprop", "rmsprop", [](const Json& c) {
            return optimizers::RMSprop(number(c, "lr", 0.001),
                                       {.rho = number(c, "rho", 0.9),
                                        .epsilon = number(c, "epsilon", 1e-7),
                                        .decay = number(c, "decay", 0),
                                        .clipnorm = number(c, "clipnorm", 0),
                                        .clipvalue = number(c, "clipvalue", 0)});
          }};
}

OptimizerSpec optimizers::RMSprop(double lr, const RMSpropOptions& options) {
  return OptimizerSpec(std::make_shared<RmsProp>(lr, options));
}

}  // namespace systole::keras
