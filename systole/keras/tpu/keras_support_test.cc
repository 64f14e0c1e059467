#include "systole/keras/tpu/keras_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/keras.h"
#include "systole/session/targets/target.h"

namespace systole::keras::tpu {
namespace {

using ::testing::HasSubstr;

class KerasToTpuModelTest : public ::testing::Test {
 protected:
  KerasToTpuModelTest() : scope_(graph_) {
    RandomStream stream(3);
    for (float& v : x_.data<float>()) v = static_cast<float>(stream.next_normal());
    for (size_t i = 0; i < 104; ++i) {
      y_.data<float>()[i] = x_.data<float>()[6 * i] > 0.2F ? 1.0F : 0.0F;
    }
  }

  // 104 examples: a batch of 64 and a tail of 40.
  static Sequential make_model() {
    set_random_seed(5);
    Sequential model({layers::Dense(7, {.activation = "tanh", .input_shape = Shape{6}}),
                      layers::Dropout(0.25), layers::Dense(1, {.activation = "sigmoid"})});
    return model;
  }
  static CompileOptions compile_options() {
    return {.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}};
  }
  static KerasTPUModel on_tpu(const Model& model) {
    return keras_to_tpu_model(
        model, {.strategy = TPUDistributionStrategy(TPUClusterResolver("local:v3-8"))});
  }
  static void expect_near(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      for (int64_t k = 0; k < a[i].num_elements(); ++k) {
        EXPECT_NEAR(a[i].as_double(k), b[i].as_double(k), 2e-5) << i << " " << k;
      }
    }
  }

  Graph graph_;
  GraphScope scope_;
  Tensor x_{DType::f32, {104, 6}};
  Tensor y_{DType::f32, {104, 1}};
  const FitOptions fit_{.batch_size = 64, .epochs = 3, .verbose = 0, .validation_split = 0.125};
};

TEST_F(KerasToTpuModelTest, EightCoresTrainLikeOneWithoutASecondCompilation) {
  const FitOptions whole{.batch_size = 64, .epochs = 3, .verbose = 0};
  Sequential on_cpu = make_model();
  on_cpu.compile(compile_options());
  const History expected = on_cpu.fit(x_, y_, whole);
  backend::clear_session();
  Sequential model = make_model();
  model.compile(compile_options());
  const KerasTPUModel tpu_model = on_tpu(model);
  EXPECT_EQ(tpu_model.num_cores(), 8);
  const History got = tpu_model.fit(x_, y_, whole);
  for (const auto& [name, values] : expected.history) {
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(got.history.at(name).at(i), values[i], 1e-5) << name;
    }
  }
  expect_near(tpu_model.get_weights(), on_cpu.get_weights());
  EXPECT_EQ(tpu_model.num_compilations(), 1);
  tpu_model.fit(x_, y_, whole);
  EXPECT_EQ(tpu_model.num_compilations(), 1);

  const Tensor all = tpu_model.predict(x_);
  const Tensor six = tpu_model.predict(x_.slice(0, 6));
  EXPECT_EQ(tpu_model.num_compilations(), 2);
  EXPECT_EQ(six.shape(), (Shape{6, 1}));
  EXPECT_TRUE(six.identical(all.slice(0, 6).clone()));
}

TEST_F(KerasToTpuModelTest, ValidationIsHeldOut) {
  Sequential on_cpu = make_model();
  on_cpu.compile(compile_options());
  const History expected = on_cpu.fit(x_, y_, fit_);
  backend::clear_session();
  Sequential model = make_model();
  model.compile(compile_options());
  const History got = on_tpu(model).fit(x_, y_, fit_);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(got.history.at("val_loss")[i], expected.history.at("val_loss")[i], 1e-5);
  }
}

// A training that moves to the TPU and back is the one that stays.
TEST_F(KerasToTpuModelTest, WeightsSlotsIterationsAndRateAreShared) {
  const FitOptions one{.batch_size = 64, .epochs = 1, .verbose = 0, .shuffle = false};
  const auto model_without_dropout = [] {
    set_random_seed(5);
    return Sequential({layers::Dense(7, {.activation = "tanh", .input_shape = Shape{6}}),
                       layers::Dense(1, {.activation = "sigmoid"})});
  };
  Sequential stays = model_without_dropout();
  stays.compile(compile_options());
  stays.fit(x_, y_, one);
  stays.fit(x_, y_, one);
  backend::set_value(stays.optimizer()->lr(), 0.01F);
  stays.fit(x_, y_, one);

  backend::clear_session();
  Sequential model = model_without_dropout();
  const KerasTPUModel tpu_model = on_tpu(model);  // before compile()
  tpu_model.compile(compile_options());
  model.fit(x_, y_, one);
  tpu_model.fit(x_, y_, one);
  EXPECT_EQ(backend::get_value(model.optimizer()->iterations()).as_double(0), 4);
  backend::set_value(tpu_model.optimizer()->lr(), 0.01F);
  const Model synced = tpu_model.sync_to_cpu();
  EXPECT_TRUE(synced.predict(x_).identical(model.predict(x_)));
  model.fit(x_, y_, one);
  expect_near(model.get_weights(), stays.get_weights());
  EXPECT_NEAR(tpu_model.evaluate(x_, y_, {.verbose = 0})["loss"],
              stays.evaluate(x_, y_, {.verbose = 0})["loss"], 1e-5);
  // What is set on one handle the other one uses.
  model.set_weights(stays.get_weights());
  expect_near({tpu_model.predict(x_)}, {stays.predict(x_)});
}

TEST_F(KerasToTpuModelTest, OneCore) {
  Sequential model = make_model();
  model.compile(compile_options());
  const KerasTPUModel tpu_model = keras_to_tpu_model(
      model, {.strategy = TPUDistributionStrategy(TPUClusterResolver("local:v3-8"),
                                                  {.using_single_core = true})});
  EXPECT_EQ(tpu_model.num_cores(), 1);
  EXPECT_EQ(tpu_model.fit(x_, y_, fit_).epoch.size(), 3U);
}

// Each core keeps the states of its rows.
TEST_F(KerasToTpuModelTest, StatefulModelsUseAllCores) {
  const auto make = [] {
    set_random_seed(5);
    return Sequential({layers::LSTM(3, {.stateful = true, .batch_input_shape = Shape{8, 2, 6}}),
                       layers::Dense(1)});
  };
  const Sequential on_cpu = make();
  const Sequential model = make();
  model.set_weights(on_cpu.get_weights());
  const KerasTPUModel tpu_model = on_tpu(model);
  EXPECT_EQ(tpu_model.num_cores(), 8);
  const Tensor x = x_.slice(0, 32).reshape({16, 2, 6});
  const PredictOptions options{.batch_size = 8};
  const Tensor first = on_cpu.predict(x, options);
  const Tensor second = on_cpu.predict(x, options);
  EXPECT_FALSE(second.identical(first));  // it continues from its states
  expect_near({tpu_model.predict(x, options)}, {first});
  expect_near({tpu_model.predict(x, options)}, {second});
}

class PlainSubclass : public ModelDefinition {
 public:
  std::string class_name() const override { return "PlainSubclass"; }
  std::vector<Layer> layers() const override { return {}; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return inputs;
  }
};

TEST_F(KerasToTpuModelTest, ErrorsSayWhatIsMissing) {
  register_target_scheme({.scheme = "tputest", .forms = "'tputest'", .resolve = [](auto, auto) {
                            return resolve_target("", "");
                          }});
  EXPECT_THAT(systole::testing::error_of(
                  [] { TPUDistributionStrategy strategy(TPUClusterResolver("tputest")); }),
              HasSubstr("No TPU found on given worker."));
  EXPECT_THAT(systole::testing::error_of([] { on_tpu(Model(std::make_shared<PlainSubclass>())); }),
              HasSubstr("expected a Sequential or functional model"));
}

}  // namespace
}  // namespace systole::keras::tpu
