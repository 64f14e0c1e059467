// Activations, regularizers and constraints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/base/fields.h"
#include "systole/keras/testing/layer_checks.h"
#include "systole/keras/testing/value_of.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

struct NamedFunction {
  const char* name;
  std::function<double(double)> value;
};

std::vector<NamedFunction> activation_formulas() {
  constexpr double kSeluScale = 1.0507009873554805;
  constexpr double kSeluAlpha = 1.6732632423543772;
  return {
      {"linear", [](double x) { return x; }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"selu", [](double x) { return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x)); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"exponential", [](double x) { return std::exp(x); }},
      {"hard_sigmoid", [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0); }},
      {"hard_sigmoid_keras3", [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
      {"swish", [](double x) { return x / (1 + std::exp(-x)); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"gelu", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
  };
}

TEST(ActivationTest, AllActivationsComputeTheirFormulas) {
  Tensor x = normal_array({6, 5}, 1);
  for (float& v : x.data<float>()) v *= 3;  // also where functions saturate
  std::set<std::string> tested = {"softmax"};
  for (const NamedFunction& row : activation_formulas()) {
    SCOPED_TRACE(row.name);
    tested.insert(row.name);
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) expected.push_back(row.value(x.as_double(i)));
    expect_all_near(value_of([&] { return Activation(row.name)(constant(x)); }), expected, 2e-6);
  }
  for (const std::string& name : activation_names()) {
    EXPECT_TRUE(tested.contains(name) || name.starts_with("test_")) << name;
  }
}

TEST(ActivationTest, SoftmaxSumsToOneOverTheLastAxis) {
  const Tensor x = normal_array({2, 3, 4}, 2);
  const Tensor y = value_of([&] { return Activation("softmax")(constant(x)); });
  for (int64_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += std::exp(x.as_double(row * 4 + k));
    for (int64_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(y.as_double(row * 4 + k), std::exp(x.as_double(row * 4 + k)) / sum, 1e-6);
    }
  }
}

TEST(ActivationTest, ProgramsRegisterActivations) {
  register_activation("test_cube", [](const Output& x) { return x * x * x; });
  expect_all_near(value_of([] { return Activation("test_cube")(constant(2.0F)); }), {8}, 0);
  EXPECT_THAT(error_of([] { register_activation("relu", nullptr); }),
              HasSubstr("registered already"));
  EXPECT_THAT(error_of([] {
                JsonType<Activation>::to_json(Activation([](const Output& x) { return x; }));
              }),
              HasSubstr("cannot be saved"));
}

TEST(RegularizerTest, SumsAbsoluteValuesAndSquares) {
  const Tensor w = normal_array({4, 3}, 3);
  double absolute = 0;
  double squares = 0;
  for (int64_t i = 0; i < 12; ++i) {
    absolute += std::abs(w.as_double(i));
    squares += w.as_double(i) * w.as_double(i);
  }
  struct Row {
    RegularizerSpec regularizer;
    double l1;
    double l2;
  };
  std::set<std::string> tested;
  for (const Row& row :
       {Row{"l1", 0.01, 0}, Row{"l2", 0, 0.01}, Row{"l1_l2", 0.01, 0.01},
        Row{regularizers::l1(0.5), 0.5, 0}, Row{regularizers::l2(0.25), 0, 0.25},
        Row{regularizers::l1_l2(0.5, 0.25), 0.5, 0.25}, Row{regularizers::L1L2(), 0, 0}}) {
    tested.insert(row.regularizer.object().class_name);
    const double expected = row.l1 * absolute + row.l2 * squares;
    expect_all_near(value_of([&] { return row.regularizer.function()(constant(w)); }), {expected},
                    1e-6);
    using Type = JsonType<RegularizerSpec>;
    const Json json = Type::to_json(row.regularizer);
    EXPECT_EQ(Type::to_json(Type::from_json(json)), json);
    expect_all_near(value_of([&] { return Type::from_json(json).function()(constant(w)); }),
                    {expected}, 1e-6);
  }
  for (const ClassDoc& known : JsonType<RegularizerSpec>::classes()) {
    EXPECT_TRUE(tested.contains(known.name) || !known.arguments) << known.name;
  }
  register_regularizer("TestSum", [](const Json& config) -> RegularizerFn {
    return [scale = config.at("scale").get<double>()](const Output& x) {
      return reduce_sum(x) * scale;
    };
  });
  const Json json = {{"class_name", "TestSum"}, {"config", {{"scale", 2.0}}}};
  expect_all_near(value_of([&] {
                    return JsonType<RegularizerSpec>::from_json(json).function()(
                        constant(Tensor::of<float>({2}, {1, 2})));
                  }),
                  {6}, 0);
  EXPECT_THAT(error_of([] { RegularizerSpec("l3"); }), HasSubstr("Unknown regularizer: l3"));
}

// Scales the columns (axis 0) or rows (axis 1) of w by a function of their norms.
std::vector<double> rescaled(const Tensor& w, int axis,
                             const std::function<double(double norm)>& scale) {
  const int64_t rows = w.dim(0);
  const int64_t columns = w.dim(1);
  std::vector<double> norms(static_cast<size_t>(axis == 0 ? columns : rows));
  const auto group = [&](int64_t i) {
    return static_cast<size_t>(axis == 0 ? i % columns : i / columns);
  };
  for (int64_t i = 0; i < w.num_elements(); ++i) norms[group(i)] += std::pow(w.as_double(i), 2);
  std::vector<double> result;
  for (int64_t i = 0; i < w.num_elements(); ++i) {
    result.push_back(w.as_double(i) * scale(std::sqrt(norms[group(i)])));
  }
  return result;
}

TEST(ConstraintTest, ProjectWeights) {
  const Tensor w = normal_array({4, 3}, 4);
  struct Row {
    ConstraintSpec constraint;
    int axis;
    std::function<double(double)> scale;
  };
  const auto clip = [](double x, double low, double high) {
    return std::min(std::max(x, low), high);
  };
  using namespace constraints;  // NOLINT(google-build-using-namespace): a table of their names
  std::set<std::string> tested = {NonNeg().object().class_name};
  for (const Row& row : {
           Row{"max_norm", 0, [&](double n) { return clip(n, 0, 2) / (1e-7 + n); }},
           Row{MaxNorm(0.5, 1), 1, [&](double n) { return clip(n, 0, 0.5) / (1e-7 + n); }},
           Row{"unit_norm", 0, [](double n) { return 1 / (1e-7 + n); }},
           Row{UnitNorm(1), 1, [](double n) { return 1 / (1e-7 + n); }},
           Row{"min_max_norm", 0, [&](double n) { return clip(n, 0, 1) / (1e-7 + n); }},
           Row{MinMaxNorm(0.5, 1.5, 0.25, 1), 1,
               [&](double n) { return (0.25 * clip(n, 0.5, 1.5) + 0.75 * n) / (1e-7 + n); }},
       }) {
    SCOPED_TRACE(row.constraint.object().class_name);
    tested.insert(row.constraint.object().class_name);
    const std::vector<double> expected = rescaled(w, row.axis, row.scale);
    using Type = JsonType<ConstraintSpec>;
    const Json json = Type::to_json(row.constraint);
    for (const ConstraintSpec& constraint : {row.constraint, Type::from_json(json)}) {
      expect_all_near(value_of([&] { return constraint.function()(constant(w)); }), expected, 1e-6);
    }
  }
  std::vector<double> positive;
  for (int64_t i = 0; i < 12; ++i) positive.push_back(std::max(w.as_double(i), 0.0));
  for (const ConstraintSpec& constraint : {NonNeg(), ConstraintSpec("non_neg")}) {
    expect_all_near(value_of([&] { return constraint.function()(constant(w)); }), positive, 0);
  }
  for (const ClassDoc& known : JsonType<ConstraintSpec>::classes()) {
    EXPECT_TRUE(tested.contains(known.name) || !known.arguments) << known.name;
  }
  EXPECT_THAT(error_of([] { ConstraintSpec("max_nrm"); }),
              HasSubstr("Unknown constraint: max_nrm, did you mean 'max_norm'?"));
}

}  // namespace
}  // namespace systole::keras
