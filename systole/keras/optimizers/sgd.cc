#include "systole/graph/api/math_ops.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

class Sgd : public OptimizerDefinition {
 public:
  Sgd(double lr, const optimizers::SGDOptions& options) : options_(options) {
    lr_ = hyperparameter("lr", lr);
    if (options.momentum != 0) momentum_ = hyperparameter("momentum", options.momentum);
    if (options.decay > 0) decay_ = hyperparameter("decay", options.decay);
    clipnorm_ = options.clipnorm;
    clipvalue_ = options.clipvalue;
  }

  std::string class_name() const override { return "SGD"; }
  Json config() const override {
    Json json = {{"lr", rounded(lr_->value().item<float>())},
                 {"momentum", rounded(options_.momentum)},
                 {"decay", rounded(options_.decay)},
                 {"nesterov", options_.nesterov}};
    if (clipnorm_ > 0) json["clipnorm"] = clipnorm_;
    if (clipvalue_ > 0) json["clipvalue"] = clipvalue_;
    return json;
  }

  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all = {iterations_};
    all.insert(all.end(), moments_.begin(), moments_.end());
    return all;
  }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& g) override {
    const Output p = context.value(parameter);
    const Output step = rate_ * g;
    if (!momentum_) return p - step;
    const WeightPtr moment = slot(moments_, parameter);
    const Output mu = context.value(momentum_);
    const Output v = mu * context.value(moment) - step;
    context.add_update(moment, v);
    return options_.nesterov ? p + mu * v - step : p + v;
  }

 private:
  const optimizers::SGDOptions options_;
  WeightPtr momentum_;
  std::vector<WeightPtr> moments_;
};

}  // namespace

OptimizerClass sgd_class() {
  return {"SGD", "sgd", [](const Json& c) {
            return optimizers::SGD(number(c, "lr", 0.01), {.momentum = number(c, "momentum", 0),
                                                           .decay = number(c, "decay", 0),
                                                           .nesterov = c.value("nesterov", false),
                                                           .clipnorm = number(c, "clipnorm", 0),
                                                           .clipvalue = number(c, "clipvalue", 0)});
          }};
}

OptimizerSpec optimizers::SGD(double lr, const SGDOptions& options) {
  return OptimizerSpec(std::make_shared<Sgd>(lr, options));
}

}  // namespace systole::keras
