// Models that Keras 2.15 and Keras 3 saved (tests/golden), and Keras 1.1 to 2.1
// (../shared/golden).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "systole/graph/core/graph.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/testing/golden.h"
#include "systole/keras/files/weight_conversions.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::golden_path;

constexpr const char* kGoldenFolder = "keras_h5/dl4j/";

class GoldenModelTest : public ::testing::TestWithParam<const char*> {};

// Runs `action`; skips the test for a layer that is not there yet.
template <class F>
void unless_layer_is_unknown(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.message().find("Unknown layer: ") == std::string::npos) throw;
    GTEST_SKIP() << error.message();
  }
}

TEST_P(GoldenModelTest, LoadsAndPredicts) {
  if (!testing::have_golden_files()) GTEST_SKIP() << testing::kNoGoldenFiles;
  const std::string path = golden_path(fmt::format("{}{}", kGoldenFolder, GetParam()));
  unless_layer_is_unknown([&] {
    const Model model = load_model(path);
    // Every number of the file is in the model.
    double sum = 0;
    for (const Tensor& weight : model.get_weights()) {
      for (int64_t i = 0; i < weight.num_elements(); ++i) sum += weight.as_double(i);
    }
    const auto& expected =
        testing::golden_expected("keras_h5").at(fmt::format("{}{}", kGoldenFolder, GetParam()));
    double expected_sum = 0;
    for (const auto& [name, array] : expected.at("datasets").items()) {
      if (name.starts_with("model_weights/")) expected_sum += array.at("sum").get<double>();
    }
    EXPECT_NEAR(sum, expected_sum, 1e-4 * (1 + std::abs(expected_sum)));
    // It computes, and comes back from a file of ours.
    Dims dims = model.inputs().only().shape().dims();
    if (dims[0] < 0) dims[0] = 2;
    const Tensor x = Tensor::full(DType::f32, Shape(dims), 1);
    const Tensor y = model.predict(x, {.batch_size = dims[0]});
    model.save("mem://golden/again.h5");
    EXPECT_TRUE(load_model("mem://golden/again.h5", {.compile = false})
                    .predict(x, {.batch_size = dims[0]})
                    .identical(y));
  });
}

INSTANTIATE_TEST_SUITE_P(
    Keras, GoldenModelTest,
    ::testing::Values("keras_simple/cnn_tf_model.h5", "keras_simple/lstm_tf_model.h5",
                      "optimizers/adadelta.h5", "optimizers/adagrad.h5", "optimizers/adam.h5",
                      "optimizers/adamax.h5", "optimizers/nadam.h5", "optimizers/rmsprop.h5",
                      "optimizers/sgd.h5", "weights/batch_to_conv2d_tensorflow_2.h5",
                      "weights/bidirectional_lstm_tensorflow_2.h5",
                      "weights/conv2d_tensorflow_2.h5", "weights/dense_tensorflow_1.h5",
                      "weights/dense_tensorflow_2.h5",
                      "weights/embedding_conv1d_flatten_tensorflow_2.h5",
                      "weights/embedding_lstm_tensorflow_2.h5", "weights/lstm_tensorflow_1.h5",
                      "weights/lstm_tensorflow_2.h5", "weights/sepconv2d_tensorflow_2.h5",
                      "weights/simple_rnn_tensorflow_2.h5",
                      "examples/simple_flatten_lstm/simple_flatten_lstm_tf_keras_2_model.h5"),
    [](const auto& info) {
      std::string name = info.param;
      name = name.substr(name.rfind('/') + 1);
      return name.substr(0, name.rfind('.'));
    });

std::vector<float> golden_numbers(const std::string& path) {
  std::istringstream text(read_file(default_file_system(), path));
  std::vector<float> values;
  for (float value = 0; text >> value;) values.push_back(value);
  return values;
}

TEST(GoldenPredictionTest, CnnOfKeras1) {
  if (!testing::have_golden_files()) GTEST_SKIP() << testing::kNoGoldenFiles;
  const std::string folder = golden_path(fmt::format("{}keras_simple/", kGoldenFolder));
  unless_layer_is_unknown([&] {
    const Model model = load_model(fmt::format("{}cnn_tf_model.h5", folder));
    const std::vector<float> expected = golden_numbers(fmt::format("{}cnn_tf_output.txt", folder));
    // The text has the channels first.
    const Tensor channels({3, 8, 8}, golden_numbers(fmt::format("{}cnn_tf_input.txt", folder)));
    const Tensor x = transposed(channels, {1, 2, 0}).reshape({1, 8, 8, 3});
    const Tensor y = model.predict(x);
    ASSERT_EQ(y.num_elements(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(y.data<float>()[i], expected[i], 1e-5);
    }
    const Model from_json = model_from_json(
        read_file(default_file_system(), fmt::format("{}cnn_tf_config.json", folder)));
    from_json.load_weights(fmt::format("{}cnn_tf_weights.h5", folder));
    EXPECT_TRUE(from_json.predict(x).identical(y));
  });
}

TEST(GoldenPredictionTest, LstmOfKeras2) {
  if (!testing::have_golden_files()) GTEST_SKIP() << testing::kNoGoldenFiles;
  const std::string stem = golden_path(
      fmt::format("{}examples/simple_flatten_lstm/simple_flatten_lstm_tf_keras_2_", kGoldenFolder));
  const Hdf5Reader arrays(default_file_system(), fmt::format("{}inputs_and_outputs.h5", stem));
  const Tensor x = arrays.read("inputs/lstm_1_input");
  const Tensor expected = arrays.read("predictions/dense_1");
  const auto check = [&](const Model& model) {
    const Tensor y = model.predict(x, {.batch_size = 25});
    ASSERT_EQ(y.shape(), expected.shape());
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      EXPECT_NEAR(y.as_double(i), expected.as_double(i),
                  1e-4 * (1 + std::abs(expected.as_double(i))));
    }
  };
  const Model model = load_model(fmt::format("{}model.h5", stem));
  check(model);
  const Model from_json =
      model_from_json(read_file(default_file_system(), fmt::format("{}config.json", stem)));
  from_json.load_weights(fmt::format("{}weights.h5", stem));
  check(from_json);
  EXPECT_TRUE(model.model()->trainer->options().optimizer->has_state());  // RMSprop had trained
}

// -- Models of tests/golden, with predictions and losses that Keras computed

Tensor tensor_of(const nlohmann::json& json) {
  return {Shape(std::span<const int64_t>(json.at("shape").get<std::vector<int64_t>>())),
          json.at("values").get<std::vector<float>>()};
}

void expect_predictions(const Model& model, const nlohmann::json& expected) {
  const Tensor y = model.predict(tensor_of(expected.at("x")));
  const Tensor wanted = tensor_of(expected.at("predictions"));
  ASSERT_EQ(y.shape(), wanted.shape());
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    EXPECT_NEAR(y.as_double(i), wanted.as_double(i), 1e-5 * (1 + std::abs(wanted.as_double(i))));
  }
}

// Each model predicts as Keras does, and trains on: with the state of its optimizer.
void expect_models_of(const std::string& folder, int count) {
  const testing::GoldenFolder& golden = testing::GoldenFolder::own();
  int files = 0;
  for (const auto& [name, expected] : golden.expected("keras_models").items()) {
    if (!name.starts_with(folder)) continue;
    SCOPED_TRACE(name);
    ++files;
    const Model model = load_model(golden.path(name));
    EXPECT_EQ(model.count_params(), expected.at("parameters").get<int64_t>());
    expect_predictions(model, expected);
    for (const auto& loss : expected.at("losses")) {
      const double got =
          model.train_on_batch(tensor_of(expected.at("x")), tensor_of(expected.at("y")));
      EXPECT_NEAR(got, loss.get<double>(), 2e-5 * (1 + loss.get<double>()));
    }
  }
  EXPECT_EQ(files, count);
}

TEST(GoldenKerasTest, ModelsOfKeras2PredictAndTrain) { expect_models_of("keras2/", 8); }

TEST(GoldenKerasTest, ModelsOfKeras3PredictAndTrain) { expect_models_of("keras3/", 4); }

// Weights alone, into the model of the archive beside them.
TEST(GoldenKerasTest, WeightsOfKeras3) {
  const testing::GoldenFolder& golden = testing::GoldenFolder::own();
  for (const char* name : {"attention", "dense", "convolution", "recurrent"}) {
    SCOPED_TRACE(name);
    const std::string archive = fmt::format("keras3/{}.keras", name);
    const Model model = load_model(golden.path(archive), {.compile = false});
    std::vector<Tensor> zeros;
    for (const Tensor& weight : model.get_weights()) {
      zeros.push_back(Tensor::zeros(weight.dtype(), weight.shape()));
    }
    model.set_weights(zeros);
    model.load_weights(golden.path(fmt::format("keras3/{}.weights.h5", name)));
    expect_predictions(model, golden.expected("keras_models").at(archive));
  }
}

}  // namespace
}  // namespace systole::keras
