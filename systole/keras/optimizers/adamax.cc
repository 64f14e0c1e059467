#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class AdaMax : public OptimizerDefinition {
 public:
  AdaMax(double lr, const optimizers::AdamaxOptions& options) : options_(options) {
    lr_ = hyperparameter("lr", lr);
    if (options.decay > 0) decay_ = hyperparameter("decay", options.decay);
    clipnorm_ = options.clipnorm;
    clipvalue_ = options.clipvalue;
  }

  std::string class_name() const override { return "Adamax"; }
  Json config() const override {
    Json json = {{"lr", rounded(lr_->value().item<float>())},
                 {"beta_1", rounded(options_.beta_1)},
                 {"beta_2", rounded(options_.beta_2)},
                 {"epsilon", options_.epsilon},
                 {"decay", rounded(options_.decay)}};
    if (clipnorm_ > 0) json["clipnorm"] = clipnorm_;
    if (clipvalue_ > 0) json["clipvalue"] = clipvalue_;
    return json;
  }

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
  const optimizers::AdamaxOptions options_;
  std::vector<WeightPtr> m_;
  std::vector<WeightPtr> u_;
  Output corrected_;
};

}  // namespace

OptimizerClass adamax_class() {
  return {"Adamax", "adamax", [](const Json& c) {
            return optimizers::Adamax(number(c, "lr", 0.002),
                                      {.beta_1 = number(c, "beta_1", 0.9),
                                       .beta_2 = number(c, "beta_2", 0.999),
                                       .epsilon = number(c, "epsilon", 1e-7),
                                       .decay = number(c, "decay", 0),
                                       .clipnorm = number(c, "clipnorm", 0),
                                       .clipvalue = number(c, "clipvalue", 0)});
          }};
}

OptimizerSpec optimizers::Adamax(double lr, const AdamaxOptions& options) {
  return OptimizerSpec(std::make_shared<AdaMax>(lr, options));
}

}  // namespace systole::keras
