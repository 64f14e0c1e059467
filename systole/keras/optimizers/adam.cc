#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class Adam : public OptimizerDefinition {
 public:
  Adam(double lr, const optimizers::AdamOptions& options) : options_(options) {
    lr_ = hyperparameter("lr", lr);
    beta_1_ = hyperparameter("beta_1", options.beta_1);
    beta_2_ = hyperparameter("beta_2", options.beta_2);
    if (options.decay > 0) decay_ = hyperparameter("decay", options.decay);
    clipnorm_ = options.clipnorm;
    clipvalue_ = options.clipvalue;
  }

  std::string class_name() const override { return "Adam"; }
  Json config() const override {
    Json json = {{"lr", rounded(lr_->value().item<float>())},
                 {"beta_1", rounded(options_.beta_1)},
                 {"beta_2", rounded(options_.beta_2)},
                 {"decay", rounded(options_.decay)},
                 {"epsilon", options_.epsilon},
                 {"amsgrad", options_.amsgrad}};
    if (clipnorm_ > 0) json["clipnorm"] = clipnorm_;
    if (clipvalue_ > 0) json["clipvalue"] = clipvalue_;
    return json;
  }

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
    const Output new_m = b1 * context.value(m) + (1.0F - b1) * g;
    const Output new_v = b2 * context.value(v) + (1.0F - b2) * square(g);
    context.add_update(m, new_m);
    context.add_update(v, new_v);
    Output largest = new_v;
    if (options_.amsgrad) {
      const WeightPtr vhat = slot(vhat_, parameter);
      largest = maximum(context.value(vhat), new_v);
      context.add_update(vhat, largest);
    }
    return context.value(parameter) - corrected_ * new_m / (sqrt(largest) + options_.epsilon);
  }

 private:
  const optimizers::AdamOptions options_;
  WeightPtr beta_1_;
  WeightPtr beta_2_;
  std::vector<WeightPtr> m_;
  std::vector<WeightPtr> v_;
  std::vector<WeightPtr> vhat_;
  Output corrected_;
};

}  // namespace

OptimizerClass adam_class() {
  return {"Adam", "adam", [](const Json& c) {
            return optimizers::Adam(number(c, "lr", 0.001),
                                    {.beta_1 = number(c, "beta_1", 0.9),
                                     .beta_2 = number(c, "beta_2", 0.999),
                                     .epsilon = number(c, "epsilon", 1e-7),
                                     .decay = number(c, "decay", 0),
                                     .amsgrad = c.value("amsgrad", false),
                                     .clipnorm = number(c, "clipnorm", 0),
                                     .clipvalue = number(c, "clipvalue", 0)});
          }};
}

OptimizerSpec optimizers::Adam(double lr, const AdamOptions& options) {
  return OptimizerSpec(std::make_shared<systole::keras::Adam>(lr, options));
}

}  // namespace systole::keras
