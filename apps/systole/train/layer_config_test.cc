#include "apps/systole/train/layer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/systole/train/training_config.h"
#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/local/local_file_system.h"

namespace systole::app {
namespace {

using systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LayerConfig parse(const std::string& yaml) {
  return parse_layer(ConfigNode::parse(yaml, "m.yaml"));
}

std::string error_of(const std::string& yaml) {
  return systole::testing::error_of([&] { parse(yaml); });
}

TEST(LayerConfigTest, ReadsArgumentsOfKeras) {
  const struct {
    std::string yaml;
    std::string config;
  } rows[] = {
      {"Flatten", "{}"},
      {"Dense: 3", R"({"units":3})"},
      {"Dropout: .25", R"({"rate":0.25})"},
      {"Reshape: [4, -1]", R"({"target_shape":[4,-1]})"},
      {"MaxPool2D: {pool_size: [2, 3], name: pool}", R"({"pool_size":[2,3],"name":"pool"})"},
      {"Dense: {units: 2, activation: relu, use_bias: false, name: 7}",
       R"({"units":2,"activation":"relu","use_bias":false,"name":"7"})"},
      {"Dense: {units: 2, kernel_initializer: he_normal}",
       R"({"units":2,"kernel_initializer":{"class_name":"HeNormal","config":{}}})"},
      {"Dense: {units: 2, kernel_regularizer: {l2: {l: 1e-3}}, kernel_constraint: null}",
       R"({"units":2,"kernel_regularizer":{"class_name":"l2","config":{"l":0.001}},)"
       R"("kernel_constraint":null})"},
      {"Bidirectional: {layer: {LSTM: {units: 4}}, merge_mode: sum}",
       R"({"layer":{"class_name":"LSTM","config":{"units":4}},"merge_mode":"sum"})"},
      {"RNN: {cell: {StackedRNNCells: {cells: [GRUCell: 2, LSTMCell: 3]}}}",
       R"({"cell":{"class_name":"StackedRNNCells","config":{"cells":[)"
       R"({"class_name":"GRUCell","config":{"units":2}},)"
       R"({"class_name":"LSTMCell","config":{"units":3}}]}}})"},
  };
  for (const auto& [yaml, config] : rows) EXPECT_EQ(parse(yaml).config.dump(), config) << yaml;
}

TEST(LayerConfigTest, ErrorsHaveTheirPlace) {
  const struct {
    std::string yaml;
    std::string error;
  } rows[] = {
      {"dnse: 3",
       "m.yaml:1:1: layer, got 'dnse', expected a layer of Keras, did you mean 'Dense'?"},
      {"max_pooling2d: 3", "did you mean 'MaxPooling2D'?"},
      {"Dense", "m.yaml:1:1: Dense, got no units, expected an integer"},
      {"Dense:\n  activation: relu", "Dense, got no units, expected an integer"},
      {"Dense:\n  units: 3\n  unit: 3",
       "m.yaml:3:3: Dense, got 'unit', expected units, activation, use_bias, "},
      {"Dense:\n  units: 3\n  unit: 3", "did you mean 'units'?"},
      {"Dense:\n  activation: relu\n  units: many",
       "m.yaml:3:3: Dense: units, got \"many\", expected an integer"},
      {"Dense: {units: '3'}", "Dense: units, got \"3\", expected an integer"},
      {"Dense:\n  activation: relu\n  units: 0",
       "m.yaml:3:3: Dense: units, got 0, expected an integer from 1 to 2147483647"},
      {"Dense: 9223372036854775807", "got 9223372036854775807, expected an integer from 1"},
      {"Dense:\n  units: 3\n  activation: rely",
       "m.yaml:3:3: Dense: activation, Unknown activation function:rely, did you mean 'relu'?"},
      {"Dense:\n  units: 3\n  use_bias: perhaps",
       "m.yaml:3:3: Dense: use_bias, got \"perhaps\", expected a boolean"},
      {"Dense:\n  units: 3\n  kernel_initializer: he_norml",
       "m.yaml:3:3: Dense: kernel_initializer, got 'he_norml', expected "},
      {"Dense:\n  units: 3\n  kernel_initializer:\n    RandomNormal: {sdtdev: 1}",
       "m.yaml:4:20: Dense: kernel_initializer RandomNormal, got 'sdtdev', expected mean, stddev, "
       "seed, did you mean 'stddev'?"},
      {"Dense:\n  units: 3\n  kernel_initializer: {Zeros: {value: 3}}",
       "Dense: kernel_initializer Zeros, got 'value', expected no arguments"},
      {"Dense:\n  units: 3\n  kernel_initializer: {RandomNormal: {stddev: large}}",
       "m.yaml:3:3: Dense: kernel_initializer, RandomNormal: arguments, got"},
      {"Dense: {units: 3, input_shape: [4]}", "Dense, got 'input_shape', expected"},
      {"Conv2D:\n  filters: 3\n  kernel_size: [1, 2, 3]",
       "m.yaml:3:3: The `kernel_size` argument must be a tuple of 2 integers"},
      {"Conv2D:\n  filters: 3\n  kernel_size: 4294967296", "m.yaml:3:3: Conv2D: kernel_size, got "},
      {"Conv2D:\n  filters: 3\n  kernel_size: 3\n  padding: full",
       "m.yaml:4:3: Conv2D: padding, got 'full', expected 'valid' or 'same'"},
      {"BatchNormalization:\n  epsilon: .1\n  momentum: 7",
       "m.yaml:3:3: BatchNormalization: momentum, got 7, expected a number in [0, 1]"},
      {"Dropout: 1", "m.yaml:1:1: Dropout: rate, got 1, expected a number in [0, 1)"},
      {"Dropout: .nan", "Dropout: rate, got"},
      {"LSTM:\n  units: 3\n  dropout: 1.5",
       "m.yaml:3:3: LSTM: dropout, got 1.5, expected a number"},
      {"LSTM:\n  units: 3\n  stateful: true", "LSTM, got stateful: true, expected false"},
      {"TimeDistributed:\n  layer:\n    Dens: 3", "m.yaml:3:5: layer, got 'Dens', expected"},
      {"TimeDistributed: {layer: [Dense: 3]}", "TimeDistributed"},
      {"Bidirectional:\n  layer: {Dense: 3}",
       "m.yaml:1:1: Please initialize `Bidirectional` layer"},
      {"Dense: {units: 1, units: 2}", "got 'units' twice"},
      {"[Dense]", "layer, got a list, expected a name, or a name and its arguments"},
      {"Dense: {units: 1, name: \"\xb0\"}", "got bytes that are not UTF-8, expected UTF-8"},
  };
  for (const auto& [yaml, error] : rows) EXPECT_THAT(error_of(yaml), HasSubstr(error)) << yaml;
}

// Builds the layers in a graph that trains, and returns the names of its variables.
struct Built {
  Shape shape;
  std::vector<std::string> variables;
  std::vector<std::string> trained;
};

Built build(const std::string& layers, const TensorType& input) {
  Graph graph;
  const GraphScope scope(graph);
  const LogCapture quiet;
  const std::string yaml = "model:\n  layers:\n" + layers +
                           "loss: mean_squared_error\noptimizer: {GradientDescentOptimizer: 0.1}\n";
  const ModelFn model = parse_model(ConfigNode::parse(yaml, "m.yaml"));
  const Output x = placeholder(input.dtype, input.shape);
  const TPUEstimatorSpec predict = model(x, {}, Mode::predict, {});
  Built built;
  built.shape = predict.predictions["predictions"].leaf().shape();
  for (const auto& v : graph.collection<Variable>(graph_keys::global_variables)) {
    built.variables.push_back(v.name() + " " + fmt::format("{}", v.shape()));
  }
  for (const auto& v : graph.collection<Variable>(graph_keys::trainable_variables)) {
    built.trained.push_back(v.name());
  }
  return built;
}

TEST(LayerConfigTest, LayersOfManyKindsAreBuilt) {
  const TensorType image{DType::f32, {4, 8, 8, 3}};
  const TensorType sequence{DType::f32, {4, 6, 5}};
  const TensorType words{DType::s32, {4, 6}};
  const TensorType row{DType::f32, {4, 5}};
  const struct {
    std::string layer;
    TensorType input;
    Shape shape;
  } rows[] = {
      {"Conv2D: {filters: 2, kernel_size: 3, strides: 2, padding: same}", image, {4, 4, 4, 2}},
      {"SeparableConv2D: {filters: 2, kernel_size: 3}", image, {4, 6, 6, 2}},
      {"DepthwiseConv2D: {kernel_size: 3, depth_multiplier: 2}", image, {4, 6, 6, 6}},
      {"Conv2DTranspose: {filters: 2, kernel_size: 2, strides: 2}", image, {4, 16, 16, 2}},
      {"ZeroPadding2D: [[1, 2], [3, 4]]", image, {4, 11, 15, 3}},
      {"AveragePooling2D", image, {4, 4, 4, 3}},
      {"GlobalAveragePooling2D", image, {4, 3}},
      {"SpatialDropout2D: 0.5", image, {4, 8, 8, 3}},
      {"LayerNormalization", image, {4, 8, 8, 3}},
      {"Permute: [3, 1, 2]", image, {4, 3, 8, 8}},
      {"Embedding: {input_dim: 9, output_dim: 7, mask_zero: true}", words, {4, 6, 7}},
      {"LSTM: 7", sequence, {4, 7}},
      {"GRU: {units: 7, return_sequences: true, reset_after: true}", sequence, {4, 6, 7}},
      {"Bidirectional: {layer: {SimpleRNN: 7}}", sequence, {4, 14}},
      {"RNN: {cell: {LSTMCell: 7}}", sequence, {4, 7}},
      {"TimeDistributed: {layer: {Dense: 7}}", sequence, {4, 6, 7}},
      {"Conv1D: {filters: 7, kernel_size: 3, padding: causal}", sequence, {4, 6, 7}},
      {"RepeatVector: 3", row, {4, 3, 5}},
      {"PReLU", row, {4, 5}},
      {"GaussianNoise: 0.1", row, {4, 5}},
      {"Activation: softmax", row, {4, 5}},
  };
  for (const auto& [layer, input, shape] : rows) {
    EXPECT_EQ(build("    - " + layer + "\n", input).shape, shape) << layer;
  }
}

TEST(LayerConfigTest, VariablesHaveKerasNames) {
  const Built built = build(
      "    - Dense: 3\n"
      "    - BatchNormalization\n"
      "    - Dense: {units: 2, trainable: false}\n"
      "    - RepeatVector: 4\n"
      "    - Bidirectional: {layer: {LSTM: 2}}\n"
      "    - Dense: {units: 1, use_bias: false, name: last}\n",
      {DType::f32, {4, 5}});
  EXPECT_THAT(
      built.variables,
      ElementsAre("dense/kernel [5,3]", "dense/bias [3]", "batch_normalization/gamma [3]",
                  "batch_normalization/beta [3]", "batch_normalization/moving_mean [3]",
                  "batch_normalization/moving_variance [3]", "dense_1/kernel [3,2]",
                  "dense_1/bias [2]", "bidirectional/forward_lstm/kernel [2,8]",
                  "bidirectional/forward_lstm/recurrent_kernel [2,8]",
                  "bidirectional/forward_lstm/bias [8]", "bidirectional/backward_lstm/kernel [2,8]",
                  "bidirectional/backward_lstm/recurrent_kernel [2,8]",
                  "bidirectional/backward_lstm/bias [8]", "last/kernel [4,1]"));
  EXPECT_THAT(built.trained, ::testing::Not(::testing::Contains(HasSubstr("moving_"))));
  EXPECT_THAT(built.trained, ::testing::Not(::testing::Contains(HasSubstr("dense_1"))));
}

TEST(LayerConfigTest, ErrorsOfAGraphNameTheLine) {
  const auto error_of_model = [](const std::string& layers, const TensorType& input) {
    return systole::testing::error_of([&] { build(layers, input); });
  };
  EXPECT_THAT(error_of_model("    - Flatten\n    - Conv2D: {filters: 2, kernel_size: 3}\n",
                             {DType::f32, {4, 8}}),
              HasSubstr("m.yaml:4:"));
  EXPECT_THAT(error_of_model("    - Dense: 2\n    - LSTM: 3\n", {DType::f32, {4, 8}}),
              HasSubstr("m.yaml:4:7: Input 0 of layer lstm is incompatible with the layer: "
                        "expected ndim=3, found ndim=2"));
  EXPECT_THAT(error_of_model("    - Add\n", {DType::f32, {4, 8}}),
              HasSubstr("m.yaml:3:7: A merge layer should be called on a list of inputs"));
  EXPECT_THAT(
      error_of_model("    - LSTM: {units: 2, return_state: true}\n", {DType::f32, {4, 8, 3}}),
      HasSubstr("m.yaml:3:7: LSTM, got 3 outputs, expected a layer with one"));
}

// Sequences whose class is whether their numbers rise.
TEST(LayerConfigTest, AnLstmLearnsSequences) {
  const TempFolder folder;
  const LogCapture quiet;
  std::string csv = "a,b,c,d,y\n";
  for (int i = 0; i < 32; ++i) {
    const double start = 0.1 * (i % 7) - 0.3;
    const double step = i % 2 == 0 ? 0.2 : -0.2;
    csv += fmt::format("{},{},{},{},{}\n", start, start + step, start + 2 * step, start + 3 * step,
                       i % 2 == 0 ? 1 : 0);
  }
  write_file_atomically(local_file_system(), folder / "s.csv", csv);
  const std::string source =
      "[csv: {files: s.csv, features: {x: {dtype: float32, column_range: [a, d]}, y: int32}}";
  const std::string yaml =
      "model:\n  layers:\n    - Reshape: [4, 1]\n"
      "    - LSTM: {units: 6, kernel_regularizer: {l2: {l: 1.0e-4}}, recurrent_constraint: "
      "{MaxNorm: {max_value: 1.0}}}\n    - Dense: 2\n"
      "loss: sparse_softmax_cross_entropy\noptimizer: {AdamOptimizer: 0.05}\nmetrics: [accuracy]\n"
      "data: {dir: " +
      folder.path() + ", labels: y, train: " + source + ", repeat], eval: " + source +
      "]}\nestimator: {train_batch_size: 16}\ntrain: {max_steps: 60}\n"
      "run_config: {model_dir: " +
      (folder / "run") +
      ", tf_random_seed: 1, save_summary_steps: 0, tpu_config: {iterations_per_loop: 30}}\n";
  const TrainingConfig config = parse_training_config(ConfigNode::parse(yaml, "m.yaml"));
  TPUEstimator estimator(config.estimator);
  estimator.train(config.train_input, config.train);
  EXPECT_EQ(estimator.evaluate(config.eval_input, config.evaluate)["accuracy"], 1);
  const Tensor kernel = estimator.get_variable_value("lstm/recurrent_kernel");
  for (int64_t column = 0; column < 24; ++column) {
    double squares = 0;
    for (int64_t row = 0; row < 6; ++row) {
      squares += std::pow(kernel.as_double(row * 24 + column), 2);
    }
    EXPECT_LE(squares, 1 + 1e-5) << column;
  }
}

// On eight cores the moving averages are those of the whole batch.
TEST(LayerConfigTest, BatchNormalizationUpdatesItsAverages) {
  const TempFolder folder;
  const LogCapture quiet;
  write_file_atomically(local_file_system(), folder / "n.csv",
                        "x,y\n1,0\n2,0\n3,0\n4,0\n5,0\n6,0\n7,0\n8,0\n");
  const std::string yaml =
      "model:\n  layers: [BatchNormalization: {momentum: 0.5}, Dense: 1]\n"
      "loss: mean_squared_error\noptimizer: {GradientDescentOptimizer: 0.01}\n"
      "data: {dir: " +
      folder.path() +
      ", labels: y, train: [csv: {files: n.csv, features: "
      "{x: float32, y: float32}}, repeat]}\n"
      "estimator: {train_batch_size: 8}\ntrain: {max_steps: 1}\n"
      "run_config: {model_dir: " +
      (folder / "run") + ", save_summary_steps: 0}\n";
  const TrainingConfig config = parse_training_config(ConfigNode::parse(yaml, "m.yaml"));
  TPUEstimator estimator(config.estimator);
  estimator.train(config.train_input, config.train);
  EXPECT_NEAR(estimator.get_variable_value("batch_normalization/moving_mean").as_double(0), 2.25,
              1e-6);
  EXPECT_NEAR(estimator.get_variable_value("batch_normalization/moving_variance").as_double(0),
              0.5 + 0.5 * 5.25, 1e-5);
}

}  // namespace
}  // namespace systole::app
