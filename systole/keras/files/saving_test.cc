#include "systole/keras/files/saving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/keras/files/h5_weights.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::systole::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SavingTest : public ::testing::Test {
 protected:
  SavingTest() : scope_(graph_) { set_random_seed(1); }
  Graph graph_;
  GraphScope scope_;
  TempFolder folder_;
};

Sequential small_model() {
  return Sequential({layers::Dense(3, {.activation = "tanh", .input_shape = Shape{2}}),
                     layers::Dropout(0.25), layers::Dense(1)});
}

// Without random numbers in training.
Sequential plain_model() {
  return Sequential(
      {layers::Dense(3, {.activation = "tanh", .input_shape = Shape{2}}), layers::Dense(1)});
}

Tensor sample_inputs(int64_t rows) {
  Tensor x(DType::f32, {rows, 2});
  for (int64_t i = 0; i < 2 * rows; ++i) {
    x.data<float>()[i] = static_cast<float>(i % 7) - 3;
  }
  return x;
}

Tensor sample_targets(const Tensor& x) {
  Tensor y(DType::f32, {x.dim(0), 1});
  for (int64_t i = 0; i < x.dim(0); ++i) {
    y.data<float>()[i] = x.data<float>()[2 * i] * 0.5F;
  }
  return y;
}

void expect_same_weights(const Model& a, const Model& b) {
  const std::vector<Tensor> first = a.get_weights();
  const std::vector<Tensor> second = b.get_weights();
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].identical(second[i])) << i;
}

void fit_a_little(const Model& model, int64_t epochs) {
  const Tensor x = sample_inputs(32);
  model.fit(x, sample_targets(x),
            {.batch_size = 8, .epochs = epochs, .verbose = 0, .shuffle = false});
}

TEST_F(SavingTest, LayoutIsKeras) {
  const Sequential model = small_model();
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  const std::string path = folder_ / "model.h5";
  model.save(path);
  const Hdf5Reader file(default_file_system(), path);
  EXPECT_EQ(file.string("", "keras_version"), "2.1.6-tf");
  EXPECT_EQ(file.string("", "backend"), "tensorflow");
  EXPECT_THAT(file.children(""), ElementsAre("model_weights"));  // the optimizer has not trained
  EXPECT_THAT(file.strings("model_weights", "layer_names"),
              ElementsAre("dense", "dropout", "dense_1"));
  EXPECT_THAT(file.strings("model_weights/dense", "weight_names"),
              ElementsAre("dense/kernel:0", "dense/bias:0"));
  EXPECT_EQ(file.attribute("model_weights/dropout", "weight_names").type(),
            (TensorType{DType::f64, {0}}));
  EXPECT_EQ(file.type_of("model_weights/dense/dense/kernel:0"), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(nlohmann::json::parse(file.string("", "training_config")), nlohmann::json::parse(R"({
      "optimizer_config": {"class_name": "Adam", "config": {"learning_rate": 0.0010000000474974513,
        "beta_1": 0.8999999761581421, "beta_2": 0.9990000128746033, "decay": 0.0,
        "epsilon": 1e-07, "amsgrad": false}},
      "loss": "mean_squared_error", "metrics": ["mae"], "weighted_metrics": null,
      "sample_weight_mode": null, "loss_weights": null})"));
}

TEST_F(SavingTest, LoadedModelPredictsTheSame) {
  const Sequential model = small_model();
  model.save(folder_ / "model.h5");
  const Model loaded = load_model(folder_ / "model.h5");
  EXPECT_EQ(loaded.name(), model.name());
  EXPECT_EQ(loaded.to_json(), model.to_json());
  const Tensor x = sample_inputs(5);
  EXPECT_TRUE(loaded.predict(x).identical(model.predict(x)));
  EXPECT_THAT(error_of([&] { loaded.evaluate(x, sample_targets(x), {.verbose = 0}); }),
              HasSubstr("You must compile your model before using it"));
}

TEST_F(SavingTest, MemoryPathsWork) {
  const Sequential model = small_model();
  model.save("mem://keras_saving/model.h5");
  expect_same_weights(load_model("mem://keras_saving/model.h5"), model);
  model.save_weights("mem://keras_saving/weights");
  const Sequential other = small_model();
  other.load_weights("mem://keras_saving/weights");
  expect_same_weights(other, model);
}

// Two epochs, a file, two epochs are four epochs, bit for bit.
TEST_F(SavingTest, TrainingGoesOnAsIfUninterrupted) {
  for (const char* name : {"sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam"}) {
    const Sequential model(
        {layers::Dense(3, {.activation = "tanh", .input_shape = Shape{2}}), layers::Dense(1)});
    const Model whole = clone_model(model);
    whole.set_weights(model.get_weights());
    for (const Model& one : {static_cast<const Model&>(model), whole}) {
      one.compile({.optimizer = name, .loss = "mse", .metrics = {"mae"}});
    }
    fit_a_little(whole, 4);
    fit_a_little(model, 2);
    model.save(folder_ / "model.h5");
    const Model loaded = load_model(folder_ / "model.h5");
    fit_a_little(loaded, 2);
    EXPECT_EQ(loaded.metrics_names(), model.metrics_names());
    if (name == std::string("nadam")) {  // whose product of momenta is computed anew
      for (size_t i = 0; i < 4; ++i) {
        const Tensor a = loaded.get_weights()[i];
        for (int64_t k = 0; k < a.num_elements(); ++k) {
          EXPECT_NEAR(a.as_double(k), whole.get_weights()[i].as_double(k), 1e-6);
        }
      }
      continue;
    }
    expect_same_weights(loaded, whole);
  }
}

TEST_F(SavingTest, OptimizerStateIsInKerasOrder) {
  const Sequential model = small_model();
  model.compile({.optimizer = optimizers::Adam(0.01), .loss = "mse"});
  fit_a_little(model, 1);
  model.save(folder_ / "model.h5");
  const Hdf5Reader file(default_file_system(), folder_ / "model.h5");
  const std::vector<std::string> names = file.strings("optimizer_weights", "weight_names");
  ASSERT_EQ(names.size(), 13U);  // iterations; m, v and the unused maxima of four weights
  EXPECT_EQ(names[0], "Adam/iterations:0");
  EXPECT_EQ(names[1], "training/Adam/Variable:0");
  EXPECT_EQ(names[12], "training/Adam/Variable_11:0");
  EXPECT_EQ(file.read("optimizer_weights/Adam/iterations:0").item<int64_t>(), 4);
  EXPECT_EQ(file.type_of("optimizer_weights/training/Adam/Variable_1:0").shape, (Shape{3}));
  EXPECT_EQ(file.type_of("optimizer_weights/training/Adam/Variable_11:0").shape, (Shape{1}));
  model.save(folder_ / "small.h5", {.include_optimizer = false});
  EXPECT_FALSE(
      Hdf5Reader(default_file_system(), folder_ / "small.h5").has_attribute("", "training_config"));
}

// A file whose optimizer weights are those of another model.
TEST_F(SavingTest, StrangeOptimizerStateStartsAnew) {
  const Sequential model = plain_model();
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.save(folder_ / "model.h5");
  const Hdf5Reader saved(default_file_system(), folder_ / "model.h5");
  Hdf5Writer writer("x");
  for (const char* name : {"keras_version", "model_config", "training_config"}) {
    writer.set_string("", name, saved.string("", name));
  }
  write_h5_weights(writer, "model_weights", model.layers());
  writer.add_array("optimizer_weights/a", Tensor(1.0F));
  writer.set_strings("optimizer_weights", "weight_names", std::vector<std::string>{"a"});
  write_file_atomically(default_file_system(), folder_ / "strange.h5", writer.finish());
  const Model loaded = load_model(folder_ / "strange.h5");
  fit_a_little(loaded, 1);
  fit_a_little(model, 1);
  expect_same_weights(loaded, model);
}

TEST_F(SavingTest, CompileOptionsSurvive) {
  const KerasTensor x = Input({2}, {.name = "x"});
  const KerasTensors a = layers::Dense(1, {.name = "a"})(x);
  const KerasTensors b = layers::Dense(2, {.activation = "softmax", .name = "b"})(x);
  const Model model(x, {a, b}, {.name = "two"});
  CompileOptions options{
      .optimizer = optimizers::SGD(0.1, {.momentum = 0.5, .nesterov = true}),
      .loss = std::map<std::string, LossSpec>{{"a", "mse"}, {"b", "categorical_crossentropy"}}};
  options.loss_weights = std::vector<double>{0.25, 2};
  options.output_metrics["b"] = {"accuracy"};
  options.weighted_metrics = {"mae"};
  model.compile(options);
  model.save(folder_ / "model.h5");
  const Model loaded = load_model(folder_ / "model.h5");
  const CompileOptions& got = loaded.model()->trainer->options();
  EXPECT_EQ(got.optimizer->config(), options.optimizer->config());
  EXPECT_EQ(got.loss.of(1, 2, "b")->name(), "categorical_crossentropy");
  EXPECT_EQ(got.loss_weights.of(0, 2, "a"), std::optional(0.25));
  EXPECT_EQ(got.output_metrics.at("b").at(0).name(), "accuracy");
  EXPECT_EQ(got.weighted_metrics.at(0).name(), "mae");
}

TEST_F(SavingTest, MetricsKeepTheirArguments) {
  const KerasTensor input = Input({2});
  const Model model(
      input, {layers::Dense(3, {.name = "a"})(input), layers::Dense(1, {.name = "b"})(input)});
  model.compile({.optimizer = "sgd",
                 .loss = "mse",
                 .metrics = {top_k_categorical_accuracy(2), "mae"},
                 .output_metrics = {{"b", {metrics::BinaryAccuracy("hits")}}},
                 .weighted_metrics = {sparse_top_k_categorical_accuracy(5)},
                 .sample_weight_mode = std::map<std::string, std::string>{{"a", ""}},
                 .weight_rule = WeightRule::count_of_weighted});
  model.save(folder_ / "model.h5");
  const Model loaded = load_model(folder_ / "model.h5");
  const CompileOptions& options = loaded.trainer().options();
  EXPECT_EQ(options.weight_rule, WeightRule::count_of_weighted);
  EXPECT_EQ(options.sample_weight_mode.named().count("a"), 1U);
  EXPECT_EQ(loaded.metrics_names(), model.metrics_names());
  const std::vector<MetricSpec>& of_b = options.output_metrics.at("b");
  ASSERT_EQ(of_b.size(), 3U);
  EXPECT_EQ(metric_to_json(of_b[0]).at("config").at("k"), 2);
  EXPECT_EQ(of_b[2].name(), "hits");
  EXPECT_TRUE(of_b[2].is_running());
  EXPECT_EQ(metric_to_json(options.weighted_metrics.at(0)), "sparse_top_k_categorical_accuracy");
}

TEST_F(SavingTest, TemporalWeightsSurvive) {
  const Sequential model({layers::LSTM(3, {.return_sequences = true, .input_shape = Shape{4, 2}})});
  model.compile({.optimizer = "sgd", .loss = "mse", .sample_weight_mode = "temporal"});
  model.save(folder_ / "model.h5");
  const Model loaded = load_model(folder_ / "model.h5");
  EXPECT_EQ(loaded.trainer().options().sample_weight_mode.of(0, 1, "lstm"), "temporal");
}

TEST_F(SavingTest, WarnsOfMetricsThatNeedANameToBeLoaded) {
  const auto gap = [](const Output& t, const Output& p) {
    return reduce_max(p - t, {.axis = {-1}});
  };
  const Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {metrics::Mean("gap", gap)}});
  const LogCapture log;
  model.save(folder_ / "model.h5");
  EXPECT_THAT(log.messages(), Contains(HasSubstr("metric 'gap': a function is saved by its "
                                                 "name only")));
  EXPECT_THAT(error_of([&] { load_model(folder_ / "model.h5"); }),
              HasSubstr("Unknown metric function:gap"));
  static const bool registered = [&] {
    register_metric("gap", gap);
    return true;
  }();
  EXPECT_TRUE(registered);
  const Model loaded = load_model(folder_ / "model.h5");
  EXPECT_TRUE(loaded.trainer().options().metrics.at(0).is_running());
}

TEST_F(SavingTest, FunctionsWithoutNamesAreErrors) {
  const Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = [](const Output& t, const Output& p) {
                   return reduce_mean(square(t - p), {.axis = -1});
                 }});
  EXPECT_THAT(error_of([&] { model.save(folder_ / "model.h5"); }),
              HasSubstr("UNIMPLEMENTED: loss: a function without a name cannot be saved"));
  EXPECT_FALSE(default_file_system().exists(folder_ / "model.h5"));
  model.save(folder_ / "model.h5", {.include_optimizer = false});
}

TEST_F(SavingTest, UnknownLossSaysToLoadWithoutCompiling) {
  static const bool registered = [] {
    register_loss("saving_test_loss", [](const Output& t, const Output& p) {
      return reduce_mean(square(t - p), {.axis = -1});
    });
    return true;
  }();
  EXPECT_TRUE(registered);
  const Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = "saving_test_loss"});
  model.save(folder_ / "model.h5");
  const Hdf5Reader saved(default_file_system(), folder_ / "model.h5");
  Hdf5Writer writer("x");
  writer.set_string("", "model_config", saved.string("", "model_config"));
  std::string config = saved.string("", "training_config");
  config.replace(config.find("saving_test_loss"), 16, "somebodys_loss__");
  writer.set_string("", "training_config", config);
  write_h5_weights(writer, "model_weights", model.layers());
  write_file_atomically(default_file_system(), folder_ / "other.h5", writer.finish());
  EXPECT_EQ(load_model(folder_ / "model.h5").model()->trainer->options().loss.list().at(0).name(),
            "saving_test_loss");
  EXPECT_THAT(error_of([&] { load_model(folder_ / "other.h5"); }),
              AllOf(HasSubstr("somebodys_loss__"), HasSubstr(".compile = false")));
  expect_same_weights(load_model(folder_ / "other.h5", {.compile = false}), model);
}

TEST_F(SavingTest, WeightsByOrder) {
  const Sequential model = small_model();
  model.save_weights(folder_ / "weights.h5");
  const Sequential other = small_model();  // names differ
  const LoadReport report = other.load_weights(folder_ / "weights.h5");
  EXPECT_EQ(report.to_string(), "loaded 2 layers: dense_2, dense_3; skipped 0; missing 0");
  expect_same_weights(other, model);
  model.save(folder_ / "model.h5");  // load_weights takes whole models, too
  other.load_weights(folder_ / "model.h5");
  const Sequential deeper(
      {layers::Dense(3, {.input_shape = Shape{2}}), layers::Dense(1), layers::Dense(1)});
  EXPECT_THAT(
      error_of([&] { deeper.load_weights(folder_ / "weights.h5"); }),
      HasSubstr("You are trying to load a weight file containing 2 layers into a model with "
                "3 layers."));
  const Sequential bare(
      {layers::Dense(3, {.input_shape = Shape{2}}), layers::Dense(1, {.use_bias = false})});
  EXPECT_THAT(
      error_of([&] { bare.load_weights(folder_ / "weights.h5"); }),
      AllOf(HasSubstr("Layer #1 (named \""),
            HasSubstr("in the current model) was found to correspond to layer dense_1 in the "
                      "save file."),
            HasSubstr("expects 1 weights, but the saved weights have 2 elements.")));
  const Sequential wider({layers::Dense(3, {.input_shape = Shape{2}}), layers::Dense(5)});
  const std::vector<Tensor> kept = wider.get_weights();
  EXPECT_THAT(error_of([&] { wider.load_weights(folder_ / "weights.h5"); }),
              AllOf(HasSubstr("kernel:0', got f32[3,1]"), HasSubstr("expected f32[3,5]")));
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(wider.get_weights()[i].identical(kept[i]));
}

TEST_F(SavingTest, WeightsByName) {
  const Sequential model({layers::Dense(3, {.input_shape = Shape{2}, .name = "a"}),
                          layers::Dense(4, {.name = "b"}), layers::Dense(1, {.name = "old"})});
  model.save_weights(folder_ / "weights.h5");
  const Sequential other({layers::Dense(3, {.input_shape = Shape{2}, .name = "a"}),
                          layers::Dense(5, {.name = "b"}), layers::Dense(1, {.name = "new"})});
  EXPECT_THAT(
      error_of([&] { other.load_weights(folder_ / "weights.h5", {.by_name = true}); }),
      HasSubstr("'b/kernel:0', got f32[3,4] from layer b of the save file, expected f32[3,5]"));
  EXPECT_FALSE(other.get_weights()[0].identical(model.get_weights()[0]));
  const LoadReport report =
      other.load_weights(folder_ / "weights.h5", {.by_name = true, .skip_mismatch = true});
  EXPECT_THAT(report.loaded, ElementsAre("a"));
  EXPECT_THAT(report.skipped,
              ElementsAre(HasSubstr("b ("), HasSubstr("old (no layer of this name)")));
  EXPECT_THAT(report.missing, ElementsAre("b", "new"));
  EXPECT_TRUE(other.get_weights()[0].identical(model.get_weights()[0]));
  EXPECT_THAT(
      error_of([&] { other.load_weights(folder_ / "weights.h5", {.skip_mismatch = true}); }),
      HasSubstr("skip_mismatch can only be set to True when by_name is True"));
}

TEST_F(SavingTest, WeightsAfterTrainingOnReplicas) {
  const Sequential model = small_model();
  model.place({"local:v3-8", 8});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  fit_a_little(model, 1);
  model.save_weights(folder_ / "weights.h5");
  const Sequential other = small_model();
  other.load_weights(folder_ / "weights.h5");
  expect_same_weights(other, model);
}

TEST_F(SavingTest, TensorFlowFormat) {
  const Sequential inner({layers::Dense(2, {.input_shape = Shape{4}, .name = "inner_dense"})});
  const Sequential model({layers::Embedding(9, 3, {.input_length = 5}), layers::LSTM(4), inner});
  model.save_weights(folder_ / "ckpt/w");
  const BundleReader bundle(default_file_system(), folder_ / "ckpt/w");
  const std::string value = "/.ATTRIBUTES/VARIABLE_VALUE";
  EXPECT_THAT(bundle.keys(),
              ElementsAre("_CHECKPOINTABLE_OBJECT_GRAPH", "layer_with_weights-0/embeddings" + value,
                          "layer_with_weights-1/cell/bias" + value,
                          "layer_with_weights-1/cell/kernel" + value,
                          "layer_with_weights-1/cell/recurrent_kernel" + value,
                          "layer_with_weights-2/layer_with_weights-0/bias" + value,
                          "layer_with_weights-2/layer_with_weights-0/kernel" + value));
  EXPECT_EQ(read_checkpoint_state(default_file_system(), folder_ / "ckpt")->model_checkpoint_path,
            folder_ / "ckpt/w");
  const Model other = clone_model(model);
  const LoadReport report = other.load_weights(folder_ / "ckpt/w");
  EXPECT_EQ(report.loaded.size(), 3U);
  EXPECT_THAT(report.skipped, IsEmpty());
  expect_same_weights(other, model);
  EXPECT_THAT(error_of([&] { other.load_weights(folder_ / "ckpt/w", {.by_name = true}); }),
              HasSubstr("Weights may only be loaded based on topology"));
  const Sequential wrong = small_model();
  EXPECT_THAT(error_of([&] { wrong.load_weights(folder_ / "ckpt/w"); }),
              HasSubstr("no object 'layer_with_weights-0/kernel' for weight"));
}

// A model of a class that makes its weights when it is called.
class LateModel : public ModelDefinition {
 public:
  std::string class_name() const override { return "LateModel"; }
  std::vector<Layer> layers() const override { return {dense_}; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    return dense_.definition()->apply(context, inputs);
  }

 private:
  const layers::Dense dense_{2};
};

TEST_F(SavingTest, WeightsOfAModelThatIsNotBuilt) {
  const Model model(std::make_shared<LateModel>());
  model.predict(sample_inputs(2));
  for (const char* path : {"w.h5", "w"}) {
    model.save_weights(folder_ / path);
    const Model other(std::make_shared<LateModel>());
    EXPECT_NE(error_of([&] { other.load_weights(folder_ / path); }), "") << path;
    other.predict(sample_inputs(2));
    other.load_weights(folder_ / path);
    expect_same_weights(other, model);
  }
  const Model other(std::make_shared<LateModel>());
  EXPECT_THAT(error_of([&] { other.load_weights(folder_ / "w"); }),
              HasSubstr("Unable to load weights of model 'late_model"));
}

TEST_F(SavingTest, LinksAreFollowed) {
  const Sequential model = small_model();
  std::filesystem::create_directory(folder_ / "disk");
  std::filesystem::create_symlink("disk/real.h5", folder_ / "link.h5");
  for (int i = 0; i < 2; ++i) {  // the target is made, then replaced
    model.save(folder_ / "link.h5");
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.h5"));
    expect_same_weights(load_model(folder_ / "disk/real.h5"), model);
  }
  EXPECT_THAT(error_of([&] { model.save_weights("/dev/null", {.save_format = "h5"}); }),
              HasSubstr("/dev/null: cannot save, got a device, pipe or socket, expected a regular "
                        "file"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(SavingTest, FormatsByPathAndName) {
  const Sequential model = small_model();
  model.save_weights(folder_ / "a", {.save_format = "h5"});
  EXPECT_TRUE(default_file_system().exists(folder_ / "a"));
  model.save_weights(folder_ / "b.keras");
  EXPECT_TRUE(default_file_system().exists(folder_ / "b.keras"));
  model.save_weights(folder_ / "c");
  EXPECT_TRUE(default_file_system().exists(folder_ / "c.index"));
  const Sequential other = small_model();
  other.load_weights(folder_ / "a");  // no checkpoint: HDF5
  expect_same_weights(other, model);
  EXPECT_THAT(error_of([&] { model.save_weights(folder_ / "d.h5", {.save_format = "tf"}); }),
              HasSubstr("looks like an HDF5 file"));
  EXPECT_THAT(error_of([&] { model.save_weights(folder_ / "d", {.save_format = "zip"}); }),
              HasSubstr("Unknown format \"zip\""));
  for (const char* path : {"a", "c"}) {
    const std::string format = path == std::string("a") ? "h5" : "tf";
    EXPECT_THAT(error_of([&] {
                  model.save_weights(folder_ / path, {.overwrite = false, .save_format = format});
                }),
                HasSubstr("ALREADY_EXISTS"));
  }
}

// TensorFlow 2 keeps the cells in a list; 1.12 and older files of ours had "cell-0".
TEST_F(SavingTest, CellsAreAListInCheckpoints) {
  const auto make = [] {
    return Sequential(
        {layers::RNN(layers::StackedRNNCells({layers::SimpleRNNCell(2), layers::SimpleRNNCell(3)}),
                     {.input_shape = Shape{4, 2}})});
  };
  const Sequential model = make();
  model.save_weights(folder_ / "new");
  FileSystem& files = default_file_system();
  const BundleReader bundle(files, folder_ / "new");
  const std::string key = "layer_with_weights-0/cell/cells/1/kernel/.ATTRIBUTES/VARIABLE_VALUE";
  EXPECT_THAT(bundle.keys(), Contains(key));
  BundleWriter older(files, folder_ / "old");
  for (const std::string& name : bundle.keys()) {
    if (name.starts_with("_CHECKPOINTABLE")) continue;
    std::string renamed = name;
    renamed.replace(renamed.find("cells/"), 6, "cell-");
    older.add(renamed, bundle.read(name));
  }
  older.finish();
  for (const char* name : {"new", "old"}) {
    const Sequential other = make();
    other.load_weights(folder_ / name);
    expect_same_weights(other, model);
  }
}

TEST_F(SavingTest, ClashingNamesAreHandled) {
  const KerasTensor x = Input({2}, {.name = "x"});
  const KerasTensors y = layers::Dense(2, {.name = "a/b"})(x);
  const Model model(x, layers::Dense(2, {.name = "a"})(y));
  model.save(folder_ / "model.h5");  // group `a` is there before layer `a`
  expect_same_weights(load_model(folder_ / "model.h5"), model);
  Hdf5Writer writer("x");
  EXPECT_THAT(error_of([&] {
                write_h5_weights(writer, "", {model.layers()[1], model.layers()[1]});
              }),
              HasSubstr("two layers are named 'a/b'"));
}

TEST_F(SavingTest, LongListsOfNamesAreSplit) {
  std::vector<std::string> names;
  for (int i = 0; i < 900; ++i) names.push_back(fmt::format("{:0100}", i));
  Hdf5Writer writer("x");
  write_h5_names(writer, "", "layer_names", names);
  const Hdf5Reader file("x", writer.finish());
  EXPECT_THAT(file.attribute_names(""), ElementsAre("layer_names0", "layer_names1"));
  EXPECT_EQ(file.attribute("", "layer_names0").shape(), (Shape{450}));
  EXPECT_EQ(read_h5_names(file, "", "layer_names"), names);
}

TEST_F(SavingTest, OtherFilesAreErrors) {
  FileSystem& files = default_file_system();
  write_file_atomically(files, folder_ / "text.h5", "not a model");
  EXPECT_THAT(error_of([&] { load_model(folder_ / "text.h5"); }), HasSubstr("not an HDF5 file"));
  EXPECT_THAT(error_of([&] { load_model(folder_ / "none.h5"); }), HasSubstr("NOT_FOUND"));
  const Sequential model = small_model();
  model.save_weights(folder_ / "weights.h5");
  EXPECT_THAT(error_of([&] { load_model(folder_ / "weights.h5"); }),
              HasSubstr("No model found in config file"));
  const Sequential shapeless({layers::Dense(2)});
  EXPECT_THAT(error_of([&] { shapeless.save(folder_ / "x.h5"); }),
              HasSubstr("has not created its variables yet"));
}

// Nothing but an Error comes of a damaged model, whichever byte it is.
TEST_F(SavingTest, DamagedModelsAreErrors) {
  const Sequential model({layers::Dense(1, {.input_shape = Shape{1}})});
  model.save("mem://keras_damaged/whole.h5");
  FileSystem& files = default_file_system();
  const std::string bytes = read_file(files, "mem://keras_damaged/whole.h5");
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    write_file_atomically(files, "mem://keras_damaged/x.h5", damaged);
    try {
      load_model("mem://keras_damaged/x.h5", {.compile = false});
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("x.h5"));
    }
  }
}

}  // namespace
}  // namespace systole::keras
