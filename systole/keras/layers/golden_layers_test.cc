// Layers, merges and training against the numbers of another implementation of Keras,
// ../shared/golden/keras_layers. A case of a layer that is not there is skipped with its name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/error.h"
#include "systole/io/testing/golden.h"
#include "systole/keras/keras.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {
namespace {

constexpr const char* kGoldenLayers = "keras_layers";

std::vector<std::string> golden_layer_cases() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(systole::testing::golden_path(kGoldenLayers), error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  if (names.empty()) names.emplace_back("absent");
  return names;
}

Tensor golden_tensor(const Json& json) {
  return {Shape(std::span<const int64_t>(json.at("shape").get<std::vector<int64_t>>())),
          json.at("data").get<std::vector<float>>()};
}

std::vector<Tensor> golden_tensors(const Json& json) {
  std::vector<Tensor> tensors;
  for (const Json& item : json) tensors.push_back(golden_tensor(item));
  return tensors;
}

double largest(const Tensor& t) {
  double result = 0;
  for (const float x : t.data<float>()) {
    result = std::max(result, std::abs(static_cast<double>(x)));
  }
  return result;
}

// To `part` of the largest number, at least of 1.
void expect_close(const Tensor& got, const Tensor& expected, const std::string& what,
                  double part = 1e-5) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  const double tolerance = part * std::max(1.0, largest(expected));
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    ASSERT_NEAR(got.as_double(i), expected.as_double(i), tolerance) << what << ", element " << i;
  }
}

void expect_close(double got, double expected, const std::string& what) {
  EXPECT_NEAR(got, expected, 1e-5 * std::max(1.0, std::abs(expected))) << what;
}

// "meanSquaredError" -> "mean_squared_error".
std::string with_underscores(const std::string& camel) {
  std::string text;
  for (const char c : camel) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// l1 sum|w| + l2 sum w^2 of the kernel of each layer, as their configurations say.
double penalty_of(const Json& model, const std::vector<Tensor>& weights) {
  double total = 0;
  size_t at = 0;
  for (const Json& layer : model.at("config").at("layers")) {
    const Json& regularizer = layer.at("config").at("kernel_regularizer");
    if (!regularizer.is_null()) {
      const Json& config = regularizer.at("config");
      for (const float w : weights.at(at).data<float>()) {
        const auto x = static_cast<double>(w);
        total +=
            config.at("l1").get<double>() * std::abs(x) + config.at("l2").get<double>() * x * x;
      }
    }
    at += 2;
  }
  return total;
}

class GoldenLayersTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "absent") GTEST_SKIP() << systole::testing::kNoGoldenFiles;
    std::ifstream file(
        systole::testing::golden_path(std::string(kGoldenLayers) + "/" + GetParam() + ".json"));
    case_ = Json::parse(file);
  }

  // nullopt after a note that the case is skipped, when the model has a layer that is not there.
  std::optional<Model> read_model(const Json& model) const {
    try {
      return model_from_json(model.dump());
    } catch (const Error& error) {
      if (error.code() != Code::not_found || error.message().find("Unknown layer") != 0) throw;
      skip_reason_ = error.message();
      return std::nullopt;
    }
  }

  Json case_;
  mutable std::string skip_reason_;

 private:
  Graph graph_;
  GraphScope scope_{graph_};
};

void check_layer(const Model& model, const Json& golden) {
  model.set_weights(golden_tensors(golden.at("weights")));
  expect_close(model.predict(golden_tensor(golden.at("x"))), golden_tensor(golden.at("y")), "y");
}

void check_merge(const Model& model, const Json& golden) {
  if (golden.contains("weights")) model.set_weights(golden_tensors(golden.at("weights")));
  expect_close(model.predict(golden_tensors(golden.at("x"))), golden_tensor(golden.at("y")), "y");
}

// The files do not name their optimizers; their weights follow these.
OptimizerSpec golden_optimizer(const std::string& name) {
  if (name == "train_opt_nesterov") {
    return optimizers::SGD(0.1, {.momentum = 0.9, .nesterov = true});
  }
  return optimizers::SGD(0.1);
}

void check_training(const Model& model, const Json& golden, const std::string& name) {
  const Tensor x = golden_tensor(golden.at("x"));
  const Tensor y = golden_tensor(golden.at("y"));
  const std::vector<Tensor> after = golden_tensors(golden.at("after"));
  std::vector<MetricSpec> metrics;
  for (const Json& metric : golden.at("metrics")) metrics.emplace_back(metric.get<std::string>());
  model.set_weights(golden_tensors(golden.at("weights")));
  model.compile({.optimizer = golden_optimizer(name),
                 .loss = with_underscores(golden.at("loss").get<std::string>()),
                 .metrics = metrics});
  const History history =
      model.fit(x, y, {.batch_size = x.dim(0), .epochs = 6, .verbose = 0, .shuffle = false});
  ASSERT_EQ(history.history.size(), golden.at("history").size());
  for (const auto& [key, values] : golden.at("history").items()) {
    const std::vector<double>& got = history.history.at(key);
    ASSERT_EQ(got.size(), values.size());
    for (size_t epoch = 0; epoch < got.size(); ++epoch) {
      expect_close(got[epoch], values[epoch].get<double>(), fmt::format("{} {}", key, epoch));
    }
  }
  const std::vector<Tensor> weights = model.get_weights();
  ASSERT_EQ(weights.size(), after.size());
  // Percentages of targets near 0 are large: there the file's weights are 2.2e-4 from those of f64
  // arithmetic, of numbers up to 9.
  const double part = name == "train_loss_meanAbsolutePercentageError" ? 5e-5 : 1e-5;
  for (size_t i = 0; i < after.size(); ++i) {
    expect_close(weights[i], after[i], fmt::format("weight {}", i), part);
  }
  // Keras adds penalties in evaluate() too; this implementation does not.
  const Scores scores = model.evaluate(x, y, {.verbose = 0});
  const std::vector<double> expected = golden.at("evaluate").get<std::vector<double>>();
  ASSERT_EQ(scores.values.size(), expected.size());
  expect_close(scores[0], expected[0] + penalty_of(golden.at("model"), after), "evaluate, loss");
  for (size_t i = 1; i < expected.size(); ++i) {
    expect_close(scores[i], expected[i], "evaluate, " + scores.names[i]);
  }
}

// The implementation applies constraints where weights are set, not after steps: its numbers are
// those of a model without them, from first weights that they leave as they are.
Json without_constraints(Json model) {
  for (Json& layer : model.at("config").at("layers"))
    layer.at("config")["kernel_constraint"] = nullptr;
  return model;
}

// One step with the constraint is one without it, then the projection.
void check_constrained_step(const Model& constrained, const Model& plain, const Json& golden) {
  const Tensor x = golden_tensor(golden.at("x"));
  const Tensor y = golden_tensor(golden.at("y"));
  for (const Model& model : {constrained, plain}) {
    model.set_weights(golden_tensors(golden.at("weights")));
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    model.train_on_batch(x, y);
  }
  const Json constraint =
      golden.at("model").at("config").at("layers")[0].at("config").at("kernel_constraint");
  Tensor kernel = plain.get_weights()[0].clone();
  const int64_t rows = kernel.dim(0);
  const int64_t columns = kernel.dim(1);
  const std::span<float> w = kernel.data<float>();
  for (int64_t c = 0; c < columns; ++c) {
    double squares = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const auto v = static_cast<double>(w[r * columns + c]);
      squares += v * v;
    }
    const double norm = std::sqrt(squares);
    for (int64_t r = 0; r < rows; ++r) {
      float& v = w[r * columns + c];
      if (constraint.at("class_name") == "NonNeg") {
        v = std::max(v, 0.0F);
      } else {
        const double allowed = constraint.at("config").at("max_value").get<double>();
        v = static_cast<float>(static_cast<double>(v) * std::min(norm, allowed) / (1e-7 + norm));
      }
    }
  }
  expect_close(constrained.get_weights()[0], kernel, "kernel after a step");
}

TEST_P(GoldenLayersTest, Agrees) {
  const std::string kind = case_.at("kind").get<std::string>();
  const bool constrained = GetParam().starts_with("train_con_");
  const Json model_json = constrained ? without_constraints(case_.at("model")) : case_.at("model");
  const std::optional<Model> model = read_model(model_json);
  if (!model) GTEST_SKIP() << skip_reason_;
  if (kind == "layer") {
    check_layer(*model, case_);
  } else if (kind == "merge") {
    check_merge(*model, case_);
  } else {
    ASSERT_EQ(kind, "train");
    check_training(*model, case_, GetParam());
    if (constrained) {
      check_constrained_step(model_from_json(case_.at("model").dump()),
                             model_from_json(model_json.dump()), case_);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenLayersTest, ::testing::ValuesIn(golden_layer_cases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace systole::keras
