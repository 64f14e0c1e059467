// Programs that train on the devices of a PJRT plugin: ours, which computes on the cpu backend. The
// results are those of the cpu backend, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kExamples = 96;
constexpr int64_t kFeatures = 8;

// Numbers without a pattern in [-1, 1).
Tensor numbers(const Shape& shape, uint32_t seed) {
  Tensor values(DType::f32, shape);
  for (float& value : values.data<float>()) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8U) / static_cast<float>(1U << 23U) - 1;
  }
  return values;
}

using Variables = std::map<std::string, Tensor>;

void expect_identical(const Variables& got, const Variables& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, value] : expected) {
    EXPECT_TRUE(got.at(name).identical(value)) << name << "\n" << got.at(name) << "\n" << value;
  }
}

TPUEstimatorSpec regression(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                            const Params&) {
  const auto hidden = layers::dense(features, {.units = 16, .activation = relu});
  const auto predicted = layers::dense(hidden, {.units = 1});
  const auto loss = losses::mean_squared_error({.labels = labels, .predictions = predicted});
  return {.mode = mode,
          .loss = loss,
          .train_op = CrossShardOptimizer(AdamOptimizer(0.01))
                          .minimize(loss, {.global_step = get_global_step()})};
}

// 30 steps in launches of 10, with a checkpoint between them.
Variables train_estimator(const std::string& master) {
  const TempFolder folder;
  TPUEstimator estimator({.model_fn = regression,
                          .model_dir = folder.path(),
                          .config = {.master = master,
                                     .tf_random_seed = 7,
                                     .save_checkpoints_steps = 20,
                                     .tpu_config = {.iterations_per_loop = 10}},
                          .use_tpu = true,
                          .train_batch_size = 16});
  estimator.train(
      [](const Params& params) {
        return Dataset::from_tensor_slices(
                   Element::tuple({numbers({kExamples, kFeatures}, 1), numbers({kExamples, 1}, 2)}))
            .repeat()
            .batch(params["batch_size"], true);
      },
      {.max_steps = 30});
  Variables variables;
  for (const std::string& name : estimator.get_variable_names()) {
    variables[name] = estimator.get_variable_value(name);
  }
  return variables;
}

TEST(Pjrt, TrainsAnEstimatorAsTheCpuDoes) {
  expect_identical(train_estimator("pjrt:systole"), train_estimator("local:1"));
}

TEST(Pjrt, TrainsAnEstimatorOnSeveralDevices) {
  expect_identical(train_estimator("pjrt:systole?cores=2"), train_estimator("local:2"));
}

// Three epochs of a Keras model on the cores of a TPU.
std::vector<Tensor> train_keras(const std::string& tpu) {
  keras::backend::clear_session();
  set_random_seed(5);
  keras::Sequential model(
      {keras::layers::Dense(7, {.activation = "tanh", .input_shape = Shape{kFeatures}}),
       keras::layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const auto tpu_model = keras::tpu::keras_to_tpu_model(
      model, {.strategy = keras::tpu::TPUDistributionStrategy(TPUClusterResolver(tpu.c_str()))});
  tpu_model.fit(numbers({kExamples, kFeatures}, 1), numbers({kExamples, 1}, 2),
                {.batch_size = 32, .epochs = 3, .verbose = 0});
  return tpu_model.get_weights();
}

TEST(Pjrt, TrainsAKerasModelAsTheVirtualTpuDoes) {
  const std::vector<Tensor> expected = train_keras("local:2");
  const std::vector<Tensor> got = train_keras("pjrt:systole?cores=2");
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].identical(expected[i])) << i;
}

// A step of SGD through a session, K times in one launch.
Variables train_session(const std::string& target, const std::string& backend) {
  const auto graph = std::make_shared<Graph>();
  const GraphScope scope(*graph);
  const Output x = placeholder(DType::f32, Shape{16, kFeatures});
  const Output y = placeholder(DType::f32, Shape{16, 1});
  set_random_seed(3);
  const Output loss = losses::mean_squared_error(
      {.labels = y, .predictions = layers::dense(x, {.units = 1, .name = "out"})});
  const Operation train_op = GradientDescentOptimizer(0.1).minimize(loss);
  Session session(target, {.graph = graph.get(), .backend = backend});
  session.run(global_variables_initializer());
  StepLoop loop(session, {.inputs = {x, y},
                          .input_types = {x.type(), y.type()},
                          .fetches = {loss},
                          .targets = {train_op},
                          .max_steps = 8});
  const std::vector<Tensor> inputs{numbers({1, 8, 16, kFeatures}, 4), numbers({1, 8, 16, 1}, 5)};
  for (int launch = 0; launch < 3; ++launch) loop.run(inputs, 8);
  Variables variables{{"loss", loop.results()[0].clone()}};
  for (const Variable& variable : global_variables()) {
    variables[variable.name()] = session.run(variable);
  }
  return variables;
}

TEST(Pjrt, RunsStepsOfASessionInOneLaunch) {
  const Variables expected = train_session("", "cpu");
  expect_identical(train_session("pjrt:systole", ""), expected);
  expect_identical(train_session("", "pjrt:systole"), expected);
}

TEST(Pjrt, SessionsNamePluginsThatAreNotThere) {
  EXPECT_THAT(error_of([] { Session("pjrt:/nowhere/libtpu.so"); }),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("/nowhere/libtpu.so")));
  EXPECT_THAT(error_of([] { Session("pjrt:systole", {.backend = "cpu"}); }),
              HasSubstr("backend, got 'cpu' with target 'pjrt:systole'"));
  EXPECT_THAT(error_of([] { Session("pjrt:systole?cores=0"); }),
              HasSubstr("client option 'cores', got 0"));
}

TEST(Pjrt, NamesTheMemoryThatAProgramNeeds) {
  const auto graph = std::make_shared<Graph>();
  const GraphScope scope(*graph);
  const Output x = placeholder(DType::f32, Shape{256, 256});
  const Output product = matmul(x, x);
  Session session("pjrt:systole?core_memory=100000", {.graph = graph.get()});
  EXPECT_THAT(error_of([&] {
                session.run(product, {{x, numbers({256, 256}, 1)}});
              }),
              AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("PJRT_Client_Compile"),
                    HasSubstr("256.0 KiB")));
}

TEST(Pjrt, CommandsTakePlugins) {
  const ProgramResult devices = run_program("systole devices");
  EXPECT_THAT(devices.output, AllOf(HasSubstr("systole:0"), HasSubstr("PJRT 0.112"),
                                    HasSubstr("libsystole_pjrt.so")));
  const std::string program = "tests/conformance/stablehlo/elementwise.mlir";
  const ProgramResult tested =
      run_program("systole hlo test --backend pjrt:systole --jobs 1 " + program);
  EXPECT_EQ(tested.status, 0) << tested.output;
  EXPECT_THAT(run_program("systole hlo run --backend pjrt:nothing " + program).output,
              AllOf(HasSubstr("pjrt: plugin, got 'nothing'")));
}

}  // namespace
}  // namespace systole::testing
