#include "systole/keras/optimizers/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/keras/keras.h"

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

// Ten steps of (w x - y)^2 on one example, whose gradient is 2 (w x - y) x.
TEST(OptimizerTest, TenStepsFollowTheFormulas) {
  const Vector x = {1.5, -0.5};
  const Tensor inputs = Tensor::of<float>({1, 2}, {1.5F, -0.5F});
  const Tensor target = Tensor::of<float>({1, 1}, {2.0F});
  std::vector<OptimizerCase> rows = gradient_cases();
  std::ranges::move(moment_cases(), std::back_inserter(rows));
  for (const OptimizerCase& row : rows) {
    SCOPED_TRACE(row.name);
    const Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = Shape{2}})});
    model.set_weights({Tensor::of<float>({2, 1}, {0.25F, 1.0F})});
    model.compile({.optimizer = row.make(), .loss = "mse"});
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
}

TEST(OptimizerTest, ConfigurationsRoundTrip) {
  for (const char* name : {"sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam"}) {
    const OptimizerSpec optimizer(name);
    const Json json = {{"class_name", optimizer->class_name()}, {"config", optimizer->config()}};
    EXPECT_EQ(optimizer_from_json(json)->config(), optimizer->config()) << name;
  }
  EXPECT_EQ(OptimizerSpec("adam")->config().at("lr").get<double>(), 0.0010000000474974513);
  EXPECT_THAT(systole::testing::error_of([] { OptimizerSpec("adm"); }),
              ::testing::HasSubstr("Unknown optimizer: adm, did you mean 'Adam'?"));
}

}  // namespace
}  // namespace systole::keras
