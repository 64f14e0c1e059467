#include "systole/keras/optimizers/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/keras/keras.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {
namespace {

using Vector = std::array<double, 2>;

// An update in f64: changes `w` by gradient `g` in step t = 1, 2...
using Rule = std::function<void(Vector& w, const Vector& g, int t)>;

struct OptimizerCase {
  const char* name;
  std::function<OptimizerSpec()> make;
  std::function<Rule()> rule;
};

Rule elementwise(std::function<double(size_t i, double g, int t)> step) {
  return [step = std::move(step)](Vector& w, const Vector& g, int t) {
    for (size_t i = 0; i < 2; ++i) w[i] -= step(i, g[i], t);
  };
}

double decayed(double lr, double decay, int t) { return lr / (1 + decay * (t - 1)); }

std::vector<OptimizerCase> gradient_cases() {
  return {
      {"sgd", [] { return optimizers::SGD(0.05, {.decay = 0.1}); },
       [] {
         return elementwise([](size_t, double g, int t) { return decayed(0.05, 0.1, t) * g; });
       }},
      {"momentum", [] { return optimizers::SGD(0.05, {.momentum = 0.9}); },
       [] {
         return elementwise([v = Vector{}](size_t i, double g, int) mutable {
           v[i] = 0.9 * v[i] - 0.05 * g;
           return -v[i];
         });
       }},
      {"nesterov", [] { return optimizers::SGD(0.05, {.momentum = 0.9, .nesterov = true}); },
       [] {
         return elementwise([v = Vector{}](size_t i, double g, int) mutable {
           v[i] = 0.9 * v[i] - 0.05 * g;
           return -(0.9 * v[i] - 0.05 * g);
         });
       }},
      {"clipvalue", [] { return optimizers::SGD(0.05, {.clipvalue = 0.5}); },
       [] {
         return elementwise(
             [](size_t, double g, int) { return 0.05 * std::min(std::max(g, -0.5), 0.5); });
       }},
      {"clipnorm", [] { return optimizers::SGD(0.05, {.clipnorm = 0.5}); },
       [] {
         return Rule([](Vector& w, const Vector& g, int) {
           const double norm = std::hypot(g[0], g[1]);
           const double scale = norm > 0.5 ? 0.5 / norm : 1;
           for (size_t i = 0; i < 2; ++i) w[i] -= 0.05 * scale * g[i];
         });
       }},
      {"rmsprop", [] { return optimizers::RMSprop(0.01, {.decay = 0.1}); },
       [] {
         return elementwise([a = Vector{}](size_t i, double g, int t) mutable {
           a[i] = 0.9 * a[i] + 0.1 * g * g;
           return decayed(0.01, 0.1, t) * g / (std::sqrt(a[i]) + 1e-7);
         });
       }},
      {"adagrad", [] { return optimizers::Adagrad(0.1); },
       [] {
         return elementwise([a = Vector{}](size_t i, double g, int) mutable {
           a[i] += g * g;
           return 0.1 * g / (std::sqrt(a[i]) + 1e-7);
         });
       }},
      {"adadelta", [] { return optimizers::Adadelta(); },
       [] {
         return elementwise([a = Vector{}, d = Vector{}](size_t i, double g, int) mutable {
           a[i] = 0.95 * a[i] + 0.05 * g * g;
           const double u = g * std::sqrt(d[i] + 1e-7) / std::sqrt(a[i] + 1e-7);
           d[i] = 0.95 * d[i] + 0.05 * u * u;
           return u;
         });
       }},
  };
}

std::vector<OptimizerCase> moment_cases() {
  return {
      {"adam", [] { return optimizers::Adam(0.01); },
       [] {
         return elementwise([m = Vector{}, v = Vector{}](size_t i, double g, int t) mutable {
           m[i] = 0.9 * m[i] + 0.1 * g;
           v[i] = 0.999 * v[i] + 0.001 * g * g;
           const double rate = 0.01 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
           return rate * m[i] / (std::sqrt(v[i]) + 1e-7);
         });
       }},
      {"amsgrad", [] { return optimizers::Adam(0.1, {.beta_2 = 0.5, .amsgrad = true}); },
       [] {
         return elementwise(
             [m = Vector{}, v = Vector{}, top = Vector{}](size_t i, double g, int t) mutable {
               m[i] = 0.9 * m[i] + 0.1 * g;
               v[i] = 0.5 * v[i] + 0.5 * g * g;
               top[i] = std::max(top[i], v[i]);
               const double rate = 0.1 * std::sqrt(1 - std::pow(0.5, t)) / (1 - std::pow(0.9, t));
               return rate * m[i] / (std::sqrt(top[i]) + 1e-7);
             });
       }},
      {"adamax", [] { return optimizers::Adamax(0.01); },
       [] {
         return elementwise([m = Vector{}, u = Vector{}](size_t i, double g, int t) mutable {
           m[i] = 0.9 * m[i] + 0.1 * g;
           u[i] = std::max(0.999 * u[i], std::abs(g));
           return 0.01 / (1 - std::pow(0.9, t)) * m[i] / (u[i] + 1e-7);
         });
       }},
      {"nadam", [] { return optimizers::Nadam(0.01); },
       [] {
         return Rule([m = Vector{}, v = Vector{}, product = 1.0](Vector& w, const Vector& g,
                                                                 int t) mutable {
           const double now = 0.9 * (1 - 0.5 * std::pow(0.96, t * 0.004));
           const double next = 0.9 * (1 - 0.5 * std::pow(0.96, (t + 1) * 0.004));
           product *= now;
           for (size_t i = 0; i < 2; ++i) {
             m[i] = 0.9 * m[i] + 0.1 * g[i];
             v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
             const double v_hat = v[i] / (1 - std::pow(0.999, t));
             const double step =
                 (1 - now) * g[i] / (1 - product) + next * m[i] / (1 - product * next);
             w[i] -= 0.01 * step / (std::sqrt(v_hat) + 1e-7);
           }
         });
       }},
  };
}

// Each argument at another value than its default.
std::vector<OptimizerCase> cases_of_other_arguments() {
  return {
      {"rmsprop", [] { return optimizers::RMSprop(0.02, {.rho = 0.5, .epsilon = 0.01}); },
       [] {
         return elementwise([a = Vector{}](size_t i, double g, int) mutable {
           a[i] = 0.5 * a[i] + 0.5 * g * g;
           return 0.02 * g / (std::sqrt(a[i]) + 0.01);
         });
       }},
      {"adagrad", [] { return optimizers::Adagrad(0.2, {.epsilon = 0.1, .decay = 0.5}); },
       [] {
         return elementwise([a = Vector{}](size_t i, double g, int t) mutable {
           a[i] += g * g;
           return decayed(0.2, 0.5, t) * g / (std::sqrt(a[i]) + 0.1);
         });
       }},
      {"adadelta",
       [] { return optimizers::Adadelta(0.5, {.rho = 0.75, .epsilon = 0.01, .decay = 0.1}); },
       [] {
         return elementwise([a = Vector{}, d = Vector{}](size_t i, double g, int t) mutable {
           a[i] = 0.75 * a[i] + 0.25 * g * g;
           const double u = g * std::sqrt(d[i] + 0.01) / std::sqrt(a[i] + 0.01);
           d[i] = 0.75 * d[i] + 0.25 * u * u;
           return decayed(0.5, 0.1, t) * u;
         });
       }},
  };
}

std::vector<OptimizerCase> moment_cases_of_other_arguments() {
  return {
      {"adam",
       [] { return optimizers::Adam(0.02, {.beta_1 = 0.5, .epsilon = 0.1, .decay = 0.25}); },
       [] {
         return elementwise([m = Vector{}, v = Vector{}](size_t i, double g, int t) mutable {
           m[i] = 0.5 * m[i] + 0.5 * g;
           v[i] = 0.999 * v[i] + 0.001 * g * g;
           const double rate =
               decayed(0.02, 0.25, t) * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.5, t));
           return rate * m[i] / (std::sqrt(v[i]) + 0.1);
         });
       }},
      {"adamax",
       [] {
         return optimizers::Adamax(0.02,
                                   {.beta_1 = 0.5, .beta_2 = 0.75, .epsilon = 0.1, .decay = 0.25});
       },
       [] {
         return elementwise([m = Vector{}, u = Vector{}](size_t i, double g, int t) mutable {
           m[i] = 0.5 * m[i] + 0.5 * g;
           u[i] = std::max(0.75 * u[i], std::abs(g));
           return decayed(0.02, 0.25, t) / (1 - std::pow(0.5, t)) * m[i] / (u[i] + 0.1);
         });
       }},
  };
}

double norm_of(const Vector& x) { return std::hypot(x[0], x[1]); }
double rms_of(const Vector& x) { return norm_of(x) / std::sqrt(2); }

// Returns cases of a parameter with two rows of one column.
std::vector<OptimizerCase> cases_of_whole_parameters() {
  return {
      {"adamw",
       [] { return optimizers::AdamW(0.02, {.weight_decay = 0.1, .beta_1 = 0.8, .beta_2 = 0.5}); },
       [] {
         return Rule([m = Vector{}, v = Vector{}](Vector& w, const Vector& g, int t) mutable {
           for (size_t i = 0; i < 2; ++i) {
             m[i] = 0.8 * m[i] + 0.2 * g[i];
             v[i] = 0.5 * v[i] + 0.5 * g[i] * g[i];
             const double rate = 0.02 * std::sqrt(1 - std::pow(0.5, t)) / (1 - std::pow(0.8, t));
             w[i] -= 0.02 * 0.1 * w[i] + rate * m[i] / (std::sqrt(v[i]) + 1e-7);
           }
         });
       }},
      {"lamb", [] { return optimizers::LAMB(0.02, {.weight_decay = 0.1, .beta_2 = 0.5}); },
       [] {
         return Rule([m = Vector{}, v = Vector{}](Vector& w, const Vector& g, int t) mutable {
           Vector step;
           for (size_t i = 0; i < 2; ++i) {
             m[i] = 0.9 * m[i] + 0.1 * g[i];
             v[i] = 0.5 * v[i] + 0.5 * g[i] * g[i];
             const double v_hat = v[i] / (1 - std::pow(0.5, t));
             step[i] = m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v_hat) + 1e-6) + 0.1 * w[i];
           }
           const double rate = 0.02 * norm_of(w) / norm_of(step);
           for (size_t i = 0; i < 2; ++i) w[i] -= rate * step[i];
         });
       }},
      {"lars", [] { return optimizers::LARS(0.5, {.momentum = 0.5, .eeta = 0.1}); },
       [] {
         return Rule([a = Vector{}](Vector& w, const Vector& g, int) mutable {
           const double length = norm_of(w);
           const double rate = 0.5 * 0.1 * length / (norm_of(g) + 1e-4 * length);
           for (size_t i = 0; i < 2; ++i) {
             a[i] = 0.5 * a[i] + g[i] + 1e-4 * w[i];
             w[i] -= rate * a[i];
           }
         });
       }},
      {"adafactor", [] { return optimizers::Adafactor(0.05, {.clip_threshold = 0.5}); },
       [] {
         return Rule([r = Vector{}, c = 0.0](Vector& w, const Vector& g, int t) mutable {
           const double beta = 1 - std::pow(t, -0.8);
           c = beta * c + (1 - beta) * (g[0] * g[0] + g[1] * g[1]) / 2;
           for (size_t i = 0; i < 2; ++i) r[i] = beta * r[i] + (1 - beta) * g[i] * g[i];
           Vector u;
           for (size_t i = 0; i < 2; ++i) u[i] = g[i] / std::sqrt(r[i] * 2 / (r[0] + r[1]) * c);
           const double rate = std::max(1e-3, rms_of(w)) * std::min(0.05, 1 / std::sqrt(t));
           const double clip = std::max(1.0, rms_of(u) / 0.5);
           for (size_t i = 0; i < 2; ++i) w[i] -= rate * u[i] / clip;
         });
       }},
  };
}

// Ten steps of (w x - y)^2 on one example, whose gradient is 2 (w x - y) x.
TEST(OptimizerTest, TenStepsFollowTheFormulas) {
  const Vector x = {1.5, -0.5};
  const Tensor inputs = Tensor::of<float>({1, 2}, {1.5F, -0.5F});
  const Tensor target = Tensor::of<float>({1, 1}, {2.0F});
  std::set<std::string> tested;
  std::vector<OptimizerCase> rows;
  for (const auto cases : {gradient_cases, moment_cases, cases_of_other_arguments,
                           moment_cases_of_other_arguments, cases_of_whole_parameters}) {
    std::ranges::move(cases(), std::back_inserter(rows));
  }
  for (const OptimizerCase& row : rows) {
    SCOPED_TRACE(row.name);
    const Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = Shape{2}})});
    model.set_weights({Tensor::of<float>({2, 1}, {0.25F, 1.0F})});
    const OptimizerSpec optimizer = row.make();
    tested.insert(optimizer->class_name());
    model.compile({.optimizer = optimizer, .loss = "mse"});
    Vector w = {0.25, 1.0};
    const Rule rule = row.rule();
    for (int t = 1; t <= 10; ++t) {
      model.train_on_batch(inputs, target);
      const double error = w[0] * x[0] + w[1] * x[1] - 2;
      rule(w, {2 * error * x[0], 2 * error * x[1]}, t);
      const Tensor got = model.get_weights()[0];
      for (size_t i = 0; i < 2; ++i) {
        ASSERT_NEAR(got.data<float>()[i], w[i], 2e-5 * std::max(1.0, std::abs(w[i])))
            << "step " << t;
      }
    }
  }
  for (OptimizerClass (*const file)() : optimizer_class_files()) {
    EXPECT_TRUE(tested.contains(file().name)) << file().name;
  }
}

TEST(OptimizerTest, ConfigurationsRoundTrip) {
  for (const char* name : {"sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam",
                           "adamw", "lamb", "lars", "adafactor"}) {
    const OptimizerSpec optimizer(name);
    const Json json = {{"class_name", optimizer->class_name()}, {"config", optimizer->config()}};
    EXPECT_EQ(optimizer_from_json(json)->config(), optimizer->config()) << name;
  }
  EXPECT_EQ(OptimizerSpec("adam")->config().at("lr").get<double>(), 0.0010000000474974513);
  EXPECT_THAT(systole::testing::error_of([] { OptimizerSpec("adm"); }),
              ::testing::HasSubstr("Unknown optimizer: adm, did you mean 'Adam'?"));
}

TEST(OptimizerTest, ArgumentsOfOtherVersionsAreRead) {
  const auto read = [](const char* name, Json config) {
    return optimizer_from_json({{"class_name", name}, {"config", std::move(config)}})->config();
  };
  const Json adam = read("Adam", {{"name", "Adam"},
                                  {"learning_rate", 0.5},
                                  {"beta_1", 0.75},
                                  {"epsilon", nullptr},
                                  {"clipnorm", 2},
                                  {"clipvalue", 0.5}});
  EXPECT_EQ(adam.at("lr"), 0.5);
  EXPECT_EQ(adam.at("beta_1"), 0.75);
  EXPECT_EQ(adam.at("epsilon"), 1e-7);
  EXPECT_EQ(adam.at("clipnorm"), 2.0);
  EXPECT_EQ(adam.at("clipvalue"), 0.5);
  EXPECT_FALSE(read("SGD", {{"lr", 0.5}}).contains("clipnorm"));
  EXPECT_NO_THROW(read("RMSprop", {{"momentum", 0.0}, {"centered", false}}));
  EXPECT_THAT(systole::testing::error_of([&] {
                read("RMSprop", {{"momentun", 0.5}});
              }),
              ::testing::HasSubstr("RMSprop: argument 'momentun' is not known"));
  EXPECT_THAT(systole::testing::error_of([&] {
                read("SGD", {{"lr", "fast"}});
              }),
              ::testing::HasSubstr("SGD: got \"fast\", expected a number"));
  EXPECT_THAT(systole::testing::error_of([] { optimizers::Adam(0.1, {.clipnorm = -1}); }),
              ::testing::HasSubstr("Expected clipnorm >= 0, received: -1"));
  EXPECT_THAT(systole::testing::error_of([] { optimizers::SGD(NAN); }),
              ::testing::HasSubstr("SGD: lr, got nan, expected a number of 0 or more"));
  EXPECT_THAT(systole::testing::error_of([] { optimizers::Adam(-1.0); }),
              ::testing::HasSubstr("Adam: lr, got -1, expected a number of 0 or more"));
  EXPECT_THAT(systole::testing::error_of([] { optimizers::Adam(0.1, {.beta_1 = 1.5}); }),
              ::testing::HasSubstr("Adam: Expected beta_1 >= 0 and < 1, received: 1.5"));
  EXPECT_THAT(systole::testing::error_of([] { optimizers::SGD(0.1, {.momentum = -0.5}); }),
              ::testing::HasSubstr("SGD: Expected momentum >= 0, received: -0.5"));
}

// A linear model with one weight for each of two inputs, from (0.25, 1).
Sequential two_weights(const ConstraintSpec& constraint = nullptr) {
  Sequential model({layers::Dense(
      1, {.use_bias = false, .kernel_constraint = constraint, .input_shape = Shape{2}})});
  model.set_weights({Tensor::of<float>({2, 1}, {0.25F, 1.0F})});
  return model;
}

// tf.train's Adam, whose epsilon stands beside the corrected root: alpha m / (sqrt(v) + epsilon).
TEST(OptimizerTest, TfTrainOptimizersAreWrapped) {
  const Vector x = {1.5, -0.5};
  const Tensor inputs = Tensor::of<float>({1, 2}, {1.5F, -0.5F});
  const Tensor target = Tensor::of<float>({1, 1}, {2.0F});
  const OptimizerSpec optimizer = AdamOptimizer(0.01, {.beta1 = 0.8});
  EXPECT_NEAR(optimizer->lr()->value().item<float>(), 0.01, 1e-9);
  Vector w = {0.25, 1.0};
  Vector m = {};
  Vector v = {};
  const Sequential model = two_weights();
  const auto steps = [&](int first, int last, double lr) {
    for (int t = first; t <= last; ++t) {
      model.train_on_batch(inputs, target);
      const double error = w[0] * x[0] + w[1] * x[1] - 2;
      for (size_t i = 0; i < 2; ++i) {
        const double g = 2 * error * x[i];
        m[i] = 0.8 * m[i] + 0.2 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double rate = lr * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.8, t));
        w[i] -= rate * m[i] / (std::sqrt(v[i]) + 1e-8);
        ASSERT_NEAR(model.get_weights()[0].data<float>()[i], w[i], 2e-5) << "step " << t;
      }
    }
  };
  model.compile({.optimizer = optimizer, .loss = "mse"});
  steps(1, 5, 0.01);
  // Slots and the rate belong to the optimizer: recompiling keeps them.
  model.compile({.optimizer = optimizer, .loss = "mse"});
  steps(6, 8, 0.01);
  optimizer->lr()->set_value(Tensor(0.05F));
  steps(9, 11, 0.05);
  EXPECT_EQ(optimizer->iterations()->value().item<int64_t>(), 11);
  EXPECT_EQ(optimizer->weights().size(), 5U);  // iterations, powers, m, v
  EXPECT_THAT(systole::testing::error_of([&] { optimizer->config(); }),
              ::testing::HasSubstr("cannot be saved"));
}

TEST(OptimizerTest, TfTrainOptimizersKeepConstraints) {
  const Sequential model = two_weights("non_neg");
  model.compile({.optimizer = GradientDescentOptimizer(1.0), .loss = "mse"});
  // The gradient is 2 (0.25 + 1 - 5) x = -7.5 by both weights; for target -5, 12.5.
  model.train_on_batch(Tensor::of<float>({1, 2}, {1, 1}), Tensor::of<float>({1, 1}, {5}));
  EXPECT_EQ(model.get_weights()[0].data<float>()[0], 7.75F);
  model.set_weights({Tensor::of<float>({2, 1}, {0.25F, 20.0F})});
  model.train_on_batch(Tensor::of<float>({1, 2}, {1, 1}), Tensor::of<float>({1, 1}, {15}));
  EXPECT_EQ(model.get_weights()[0].data<float>()[0], 0.0F);
  EXPECT_EQ(model.get_weights()[0].data<float>()[1], 9.5F);
}

TEST(OptimizerTest, TfTrainOptimizersTrainOnReplicas) {
  const Tensor x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 7});
  const Tensor y = Tensor::of<float>({3, 1}, {1, 2, 4});
  std::vector<Tensor> results;
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    const Sequential model = two_weights();
    model.place(place);
    model.compile({.optimizer = MomentumOptimizer(0.01, 0.9), .loss = "mse"});
    model.fit(x, y, {.epochs = 5, .verbose = 0, .shuffle = false});
    results.push_back(model.get_weights()[0]);
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(results[0].data<float>()[i], results[1].data<float>()[i], 1e-5);
  }
}

// Moves each element by lr against the sign of its gradient.
class SignDescent : public OptimizerDefinition {
 public:
  explicit SignDescent(double lr) { lr_ = hyperparameter("lr", lr); }
  std::string class_name() const override { return "SignDescent"; }
  Json config() const override {
    return {{"lr", rounded(static_cast<double>(lr_->value().item<float>()))}};
  }
  std::vector<WeightPtr> weights() const override { return {iterations()}; }

 protected:
  Output update(CallContext& context, const WeightPtr& parameter, const Output& gradient) override {
    return context.value(parameter) - rate_ * sign(gradient);
  }
};

TEST(OptimizerTest, OptimizersOfAProgramAreRegistered) {
  register_optimizer("SignDescent", [](const Json& config) {
    return OptimizerSpec(std::make_shared<SignDescent>(config.value("lr", 0.25)));
  });
  EXPECT_THAT(systole::testing::error_of([] { register_optimizer("adam", nullptr); }),
              ::testing::HasSubstr("optimizer 'adam' is registered already"));
  const Sequential model = two_weights();
  model.compile({.optimizer = "SignDescent", .loss = "mse"});
  const Tensor before = model.get_weights()[0];
  model.train_on_batch(Tensor({1, 2}, std::vector<float>{1, -1}),
                       Tensor({1, 1}, std::vector<float>{9}));
  const Tensor after = model.get_weights()[0];
  EXPECT_NEAR(after.data<float>()[0], before.data<float>()[0] + 0.25F, 1e-6);
  EXPECT_NEAR(after.data<float>()[1], before.data<float>()[1] - 0.25F, 1e-6);
  const std::string path = ::testing::TempDir() + "sign_descent.h5";
  model.save(path);
  EXPECT_EQ(load_model(path).optimizer()->config(), model.optimizer()->config());
}

TEST(OptimizerTest, TheRateMayBeGivenByName) {
  EXPECT_EQ(optimizers::Adam({.lr = 0.5, .beta_1 = 0.25})->config().at("lr"), 0.5);
  EXPECT_EQ(optimizers::Adam({.beta_1 = 0.25})->config().at("lr"), rounded(0.001));
  EXPECT_EQ(optimizers::SGD({.lr = 0.5})->config().at("lr"), 0.5);
  EXPECT_EQ(optimizers::RMSprop({.lr = 0.5})->config().at("lr"), 0.5);
  EXPECT_EQ(optimizers::Adagrad({.lr = 0.5})->config().at("lr"), 0.5);
  EXPECT_EQ(optimizers::Adadelta({.lr = 0.5})->config().at("lr"), 0.5);
  EXPECT_EQ(optimizers::Adamax({.lr = 0.5})->config().at("lr"), 0.5);
  EXPECT_EQ(optimizers::Nadam({.lr = 0.5})->config().at("lr"), 0.5);
  EXPECT_THAT(systole::testing::error_of([] { optimizers::SGD(0.5, {.lr = 0.25}); }),
              ::testing::HasSubstr("SGD: lr, got 0.5 and {.lr = 0.25}, expected it once"));
}

TEST(OptimizerTest, TfTrainOptimizersRefuseScheduledRates) {
  const Output rate = constant(0.1F);
  EXPECT_THAT(systole::testing::error_of([&] { OptimizerSpec(GradientDescentOptimizer(rate)); }),
              ::testing::HasSubstr("learning rate, got a tensor, expected a number"));
}

}  // namespace
}  // namespace systole::keras
