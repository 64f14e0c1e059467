#include "systole/keras/functions/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/testing/layer_checks.h"
#include "systole/keras/testing/value_of.h"
#include "systole/train/testing/golden_rules.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

using Row = std::vector<double>;
constexpr double kEps = 1e-7;

double mean_over(const Row& t, const Row& p, const std::function<double(double, double)>& value) {
  double sum = 0;
  for (size_t i = 0; i < t.size(); ++i) sum += value(t[i], p[i]);
  return sum / static_cast<double>(t.size());
}

double clipped_to(double x, double low, double high) { return std::min(std::max(x, low), high); }

double sum_of(const Row& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

double length_of(const Row& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

enum class Targets : uint8_t { numbers, signs, one_hot, fractions, index };

struct LossCase {
  std::vector<std::string> names;
  Targets targets;
  bool probabilities;  // predictions lie between 0 and 1
  std::function<double(const Row& t, const Row& p)> value;
};

std::vector<LossCase> regression_losses() {
  const auto over = [](const std::function<double(double, double)>& value) {
    return [value](const Row& t, const Row& p) { return mean_over(t, p, value); };
  };
  return {
      {{"mean_squared_error", "mse", "MSE"}, Targets::numbers, false, over([](double t, double p) {
         return (p - t) * (p - t);
       })},
      {{"mean_absolute_error", "mae", "MAE"}, Targets::numbers, false, over([](double t, double p) {
         return std::abs(p - t);
       })},
      {{"mean_absolute_percentage_error", "mape", "MAPE"},
       Targets::numbers,
       false,
       over([](double t, double p) {
         return 100 * std::abs((t - p) / std::max(std::abs(t), kEps));
       })},
      {{"mean_squared_logarithmic_error", "msle", "MSLE"},
       Targets::numbers,
       false,
       over([](double t, double p) {
         return std::pow(std::log(std::max(p, kEps) + 1) - std::log(std::max(t, kEps) + 1), 2);
       })},
      {{"hinge"}, Targets::signs, false, over([](double t, double p) {
         return std::max(1 - t * p, 0.0);
       })},
      {{"squared_hinge"}, Targets::signs, false, over([](double t, double p) {
         return std::pow(std::max(1 - t * p, 0.0), 2);
       })},
      {{"huber", "huber_loss", "Huber"}, Targets::numbers, false, over([](double t, double p) {
         const double error = std::abs(p - t);
         return error <= 1 ? error * error / 2 : error - 0.5;
       })},
      {{"logcosh", "log_cosh"}, Targets::numbers, false, over([](double t, double p) {
         return std::log(std::cosh(p - t));
       })},
      {{"poisson"}, Targets::fractions, true, over([](double t, double p) {
         return p - t * std::log(p + kEps);
       })},
      {{"cosine_proximity", "cosine", "cosine_similarity"},
       Targets::numbers,
       false,
       [](const Row& t, const Row& p) {
         double product = 0;
         for (size_t i = 0; i < t.size(); ++i) product += t[i] * p[i];
         return -product / (length_of(t) * length_of(p));
       }},
  };
}

std::vector<LossCase> class_losses() {
  return {
      {{"categorical_hinge"},
       Targets::one_hot,
       false,
       [](const Row& t, const Row& p) {
         double right = 0;
         double wrong = -INFINITY;
         for (size_t i = 0; i < t.size(); ++i) {
           right += t[i] * p[i];
           wrong = std::max(wrong, (1 - t[i]) * p[i]);
         }
         return std::max(0.0, wrong - right + 1);
       }},
      {{"categorical_crossentropy"},
       Targets::one_hot,
       true,
       [](const Row& t, const Row& p) {
         double loss = 0;
         for (size_t i = 0; i < t.size(); ++i) {
           loss -= t[i] * std::log(clipped_to(p[i] / sum_of(p), kEps, 1 - kEps));
         }
         return loss;
       }},
      {{"sparse_categorical_crossentropy"},
       Targets::index,
       true,
       [](const Row& t, const Row& p) {
         Row clipped;
         for (const double v : p) clipped.push_back(clipped_to(v, kEps, 1 - kEps));
         return -std::log(clipped[t[0]] / sum_of(clipped));
       }},
      {{"binary_crossentropy"},
       Targets::fractions,
       true,
       [](const Row& t, const Row& p) {
         return mean_over(t, p, [](double target, double given) {
           const double v = clipped_to(given, kEps, 1 - kEps);
           return -target * std::log(v) - (1 - target) * std::log(1 - v);
         });
       }},
      {{"kullback_leibler_divergence", "kld", "KLD", "kl_divergence"},
       Targets::fractions,
       true,
       [](const Row& t, const Row& p) {
         double sum = 0;
         for (size_t i = 0; i < t.size(); ++i) {
           const double v = clipped_to(t[i], kEps, 1);
           sum += v * std::log(v / clipped_to(p[i], kEps, 1));
         }
         return sum;
       }},
  };
}

std::vector<LossCase> focal_losses() {
  return {
      {{"binary_focal_crossentropy"},
       Targets::fractions,
       true,
       [](const Row& t, const Row& p) {
         return mean_over(t, p, [](double target, double given) {
           const double v = clipped_to(given, kEps, 1 - kEps);
           const double right = target * given + (1 - target) * (1 - given);
           return std::pow(1 - right, 2) * (-target * std::log(v) - (1 - target) * std::log(1 - v));
         });
       }},
      {{"categorical_focal_crossentropy"},
       Targets::one_hot,
       true,
       [](const Row& t, const Row& p) {
         double loss = 0;
         for (size_t i = 0; i < t.size(); ++i) {
           const double v = clipped_to(p[i] / sum_of(p), kEps, 1 - kEps);
           loss -= 0.25 * std::pow(1 - v, 2) * t[i] * std::log(v);
         }
         return loss;
       }},
  };
}

constexpr int64_t kRows = 20;
constexpr int64_t kClasses = 5;

Tensor targets_of(Targets kind) {
  Tensor t = normal_array({kRows, kind == Targets::index ? 1 : kClasses}, 1);
  const std::span<float> values = t.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    switch (kind) {
      case Targets::numbers:
        break;
      case Targets::signs:
        values[i] = values[i] > 0 ? 1.0F : -1.0F;
        break;
      case Targets::one_hot:
        values[i] = i % 5 == i / 5 % 5 ? 1.0F : 0.0F;
        break;
      case Targets::fractions:
        values[i] = 1 / (1 + std::exp(-values[i]));
        break;
      case Targets::index:
        values[i] = static_cast<float>(i % 5);
        break;
    }
  }
  if (kind == Targets::fractions) {
    values[0] = 0;
    values[1] = 1;
  }
  return t;
}

Tensor predictions_of(bool probabilities) {
  Tensor p = normal_array({kRows, kClasses}, 2);
  if (!probabilities) return p;
  for (float& v : p.data<float>()) v = 1 / (1 + std::exp(-v));
  p.data<float>()[2] = 0.01F;
  return p;
}

Row example_row(const Tensor& t, int64_t row) {
  Row values;
  const int64_t width = t.dim(1);
  for (int64_t i = 0; i < width; ++i) values.push_back(t.as_double(row * width + i));
  return values;
}

TEST(LossTest, AllLossesComputeTheirFormulas) {
  std::vector<LossCase> rows = regression_losses();
  std::ranges::move(class_losses(), std::back_inserter(rows));
  std::ranges::move(focal_losses(), std::back_inserter(rows));
  std::set<std::string> tested;
  for (const LossCase& row : rows) {
    const Tensor t = targets_of(row.targets);
    const Tensor p = predictions_of(row.probabilities);
    std::vector<double> expected;
    for (int64_t n = 0; n < kRows; ++n)
      expected.push_back(row.value(example_row(t, n), example_row(p, n)));
    for (const std::string& name : row.names) {
      SCOPED_TRACE(name);
      tested.insert(name);
      const LossSpec loss(name);
      EXPECT_EQ(loss.name(), row.names[0]);
      expect_all_near(value_of([&] { return loss(constant(t), constant(p)); }), expected, 5e-6);
    }
  }
  const std::vector<std::string> all = loss_names();
  for (const std::string& name : all) {
    EXPECT_TRUE(tested.contains(name) || name.starts_with("test_")) << name;
  }
}

// Objects of Keras 2.15, with their arguments.
TEST(LossTest, ObjectsHaveKerasNumbers) {
  std::set<std::string> tested;
  for (const auto& [key, row] :
       systole::testing::GoldenFolder::own().expected("keras_losses").items()) {
    SCOPED_TRACE(key);
    const LossSpec loss =
        loss_from_json({{"class_name", row.at("class_name")}, {"config", row.at("config")}});
    tested.insert(loss.name());
    const Tensor t = systole::testing::golden_tensor(row.at("labels"));
    const Tensor p = systole::testing::golden_tensor(row.at("predictions"));
    systole::testing::expect_golden_values(value_of([&] { return loss(constant(t), constant(p)); }),
                                           row.at("values"), 5e-6);
    // What is written is read again.
    EXPECT_EQ(loss_to_json(loss_from_json(loss_to_json(loss))), loss_to_json(loss));
    EXPECT_EQ(loss_from_json(loss_to_json(loss)).arguments(), loss.arguments());
  }
  for (const LossDef* def : all_loss_defs()) {
    if (def->keras_name.empty()) continue;
    EXPECT_TRUE(tested.contains(std::string(def->keras_name))) << def->name << " has no row";
  }
}

TEST(LossTest, ClassesTakeArguments) {
  EXPECT_EQ(losses::Huber().arguments(), "");
  EXPECT_EQ(losses::Huber({.delta = 2}).arguments(), R"({"delta":2.0})");
  EXPECT_EQ(losses::BinaryCrossentropy({.from_logits = true}).arguments(),
            R"({"from_logits":true})");
  EXPECT_EQ(loss_to_json(losses::BinaryFocalCrossentropy({.gamma = 3})),
            Json::parse(R"({"class_name": "BinaryFocalCrossentropy", "config": {"gamma": 3.0}})"));
  EXPECT_EQ(losses::KLDivergence().name(), "kullback_leibler_divergence");
  EXPECT_THAT(error_of([] {
                loss_from_json({{"class_name", "Huber"}, {"config", {{"delta", "one"}}}});
              }),
              HasSubstr("loss huber: argument 'delta', got \"one\", expected a number"));
}

// Probabilities of exactly 0 and 1 are moved into the open interval.
TEST(LossTest, CrossentropiesAreFiniteAtTheEnds) {
  const Tensor t = Tensor::of<float>({2, 2}, {1, 0, 0, 1});
  const Tensor p = Tensor::of<float>({2, 2}, {0, 1, 0, 1});
  for (const char* name : {"binary_crossentropy", "categorical_crossentropy"}) {
    const Tensor loss = value_of([&] { return LossSpec(name)(constant(t), constant(p)); });
    EXPECT_NEAR(loss.as_double(0), -std::log(1e-7), 0.2) << name;
    EXPECT_NEAR(loss.as_double(1), 0, 1e-6) << name;
  }
}

TEST(LossTest, SparseTargetsMayHaveNoLastAxis) {
  const Tensor p = predictions_of(true);
  const Tensor column = targets_of(Targets::index);
  const LossSpec loss("sparse_categorical_crossentropy");
  EXPECT_TRUE(value_of([&] { return loss(constant(column), constant(p)); }).identical(value_of([&] {
    return loss(constant(column.reshape({kRows})), constant(p));
  })));
}

TEST(LossTest, ProgramsRegisterLosses) {
  register_loss("test_fourth_power", [](const Output& t, const Output& p) {
    return reduce_mean(square(square(p - t)), {.axis = -1});
  });
  const Tensor loss = value_of([] {
    return LossSpec("test_fourth_power")(constant(Tensor::of<float>({1, 1}, {1})),
                                         constant(Tensor::of<float>({1, 1}, {3})));
  });
  EXPECT_EQ(loss.as_double(0), 16);
  EXPECT_THAT(error_of([] { register_loss("mse", nullptr); }), HasSubstr("registered already"));
  EXPECT_THAT(error_of([] { LossSpec("mean_square_error"); }),
              HasSubstr("Unknown loss function:mean_square_error, did you mean "
                        "'mean_squared_error'?"));
}

}  // namespace
}  // namespace systole::keras
