// A worker in another process: programs give the results that they give on this machine, and
// survive its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/runtime/preemption.h"
#include "systole/systole.h"
#include "tests/end_to_end/program.h"
#include "tests/end_to_end/worker_process.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The lines with the accuracy of each epoch.
std::string epochs_of(const std::string& command_line) {
  const ProgramResult result = run_program(command_line);
  EXPECT_EQ(result.status, 0) << result.output;
  std::string epochs;
  for (size_t at = result.output.find("Epoch ="); at != std::string::npos;
       at = result.output.find("Epoch =", at + 1)) {
    epochs += result.output.substr(at, result.output.find('\n', at) - at + 1);
  }
  return epochs;
}

TEST(Worker, TrainsIrisAsThisMachineDoes) {
  const WorkerProcess worker("");
  ASSERT_NE(worker.address(), "");
  const std::string local = epochs_of("iris_session --epochs 4");
  EXPECT_THAT(local, HasSubstr("Epoch = 4"));
  EXPECT_EQ(epochs_of("iris_session --epochs 4 --tpu " + worker.target()), local);
  const ProgramResult status = run_program("systole worker status " + worker.address());
  EXPECT_THAT(status.output, AllOf(HasSubstr("serving"), HasSubstr("device    cpu:0")));
  EXPECT_THAT(run_program("systole worker status --json " + worker.address()).output,
              AllOf(HasSubstr("\"preempted\": false"), HasSubstr("\"name\": \"cpu:0\"")));
}

// The lines of a program for a TPU of the time: the address is in TPU_NAME.
TEST(Worker, IsFoundByTpuName) {
  const WorkerProcess worker("local:v3-8");
  ::setenv("TPU_NAME", worker.target().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  Graph graph;
  const GraphScope scope(graph);
  Session session(TPUClusterResolver().get_master());
  ::unsetenv("TPU_NAME");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(session.run(tpu::initialize_system()).item<std::string>(),
              HasSubstr("num_tpu_devices_per_task: 8"));
  const float sum = session.run(constant(1.5F) + constant(2.0F));
  EXPECT_EQ(sum, 3.5F);
}

// A program that does not end must not keep the worker, not even in its own process.
TEST(Worker, EndsAfterItsGraceTimeWithAnEndlessProgram) {
  WorkerProcess worker("", "127.0.0.1:0", {"--isolation", "off"});
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {});
  const Output endless = while_loop(
      [](const std::vector<Output>& v) { return v[0] < 2.0F; },
      [](const std::vector<Output>& v) { return std::vector<Output>{v[0] * 0.5F}; }, {x})[0];
  Session session(worker.target());
  std::thread run([&] {
    EXPECT_NE(error_of([&] { session.run(endless, {{x, 1.0F}}); }), "no error");
  });
  const std::string status = "systole worker status " + worker.address();
  for (int i = 0; i < 100; ++i) {
    if (run_program(status).output.find(" 1 programs") != std::string::npos) break;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the launch begins
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  run.join();
}

// ------------------------------------------------------------------------- a small CNN

TPUEstimatorSpec cnn_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                           const Params&) {
  Output x = layers::conv2d(reshape(features, {-1, 8, 8, 1}),
                            {.filters = 4, .kernel_size = {3, 3}, .activation = relu});
  x = layers::dropout(layers::dense(reshape(x, {-1, 6 * 6 * 4}), {.units = 16}),
                      {.rate = 0.3, .training = true});
  const Output logits = layers::dense(x, {.units = 4});
  const Output loss = losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  CrossShardOptimizer optimizer(MomentumOptimizer(0.05, 0.9));
  return {.mode = mode,
          .loss = loss,
          .train_op = optimizer.minimize(loss, {.global_step = get_global_step()})};
}

Dataset cnn_input(const Params& params) {
  Tensor images(DType::f32, {64, 64});
  Tensor labels(DType::s32, {64});
  for (size_t i = 0; i < 64; ++i) {
    labels.data<int32_t>()[i] = static_cast<int32_t>(i % 4);
    for (size_t k = 0; k < 64; ++k) {
      images.data<float>()[i * 64 + k] = static_cast<float>((i * 37 + k * (i % 4 + 1)) % 17) / 17;
    }
  }
  const int64_t batch_size = params["batch_size"];
  return Dataset::from_tensor_slices({constant(images), constant(labels)})
      .shuffle(64, {.seed = 3})
      .repeat()
      .batch(batch_size, /*drop_remainder=*/true);
}

// Calls `action` once, at the end of the first loop at or after a step.
class AtStep : public SessionRunHook {
 public:
  AtStep(int64_t step, std::function<void()> action) : step_(step), action_(std::move(action)) {}
  void after_run(RunContext& context, std::span<const Tensor>) override {
    if (context.global_step() < step_ || !action_) return;
    std::exchange(action_, nullptr)();
  }

 private:
  int64_t step_;
  std::function<void()> action_;
};

constexpr int64_t kSteps = 60;

TPUEstimator cnn_estimator(const std::string& master, const std::string& folder) {
  return TPUEstimator({.model_fn = cnn_model,
                       .config = {.master = master,
                                  .model_dir = folder,
                                  .tf_random_seed = 1,
                                  .save_summary_steps = 0,
                                  .save_checkpoints_steps = 10,
                                  .tpu_config = TPUConfig{/*iterations_per_loop=*/5, 8}},
                       .train_batch_size = 32});
}

void expect_same_variables(const TPUEstimator& a, const TPUEstimator& b) {
  const auto names = a.get_variable_names();
  EXPECT_EQ(names, b.get_variable_names());
  EXPECT_GE(names.size(), 6);
  for (const std::string& name : names) {
    EXPECT_TRUE(a.get_variable_value(name).identical(b.get_variable_value(name))) << name;
  }
}

TEST(Worker, TrainsACnnBitForBitAsThisMachineDoes) {
  const TempFolder folder;
  const WorkerProcess worker("local:v3-8");
  TPUEstimator local = cnn_estimator("local:v3-8", folder / "local");
  local.train(cnn_input, {.max_steps = kSteps});
  TPUEstimator remote = cnn_estimator(worker.target(), folder / "remote");
  remote.train(cnn_input, {.max_steps = kSteps});
  expect_same_variables(local, remote);
}

// Trains a small Keras model on a target and returns its predictions.
Tensor keras_predictions(const std::string& target) {
  keras::clear_session();
  set_random_seed(1);
  keras::Sequential model;
  model.add(keras::layers::Dense(8, {.activation = "tanh", .input_shape = Shape{4}}));
  model.add(keras::layers::Dense(3, {.activation = "softmax"}));
  auto tpu_model = keras::tpu::keras_to_tpu_model(
      model,
      {.strategy = keras::tpu::TPUDistributionStrategy(TPUClusterResolver({.tpu = target}))});
  tpu_model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  Tensor x(DType::f32, {64, 4});
  Tensor y(DType::s32, {64});
  for (size_t i = 0; i < 64; ++i) {
    y.data<int32_t>()[i] = static_cast<int32_t>(i % 3);
    for (size_t k = 0; k < 4; ++k) {
      x.data<float>()[i * 4 + k] = static_cast<float>((i * 7 + k * (i % 3)) % 11) / 11;
    }
  }
  tpu_model.fit(x, y, {.batch_size = 32, .epochs = 3, .verbose = 0});
  return tpu_model.predict(x);
}

TEST(Worker, TrainsKerasAsThisMachineDoes) {
  const WorkerProcess worker("local:v3-8");
  const Tensor local = keras_predictions("local:v3-8");
  EXPECT_TRUE(keras_predictions(worker.target()).identical(local)) << local.to_string(12);
}

TEST(Worker, MayDieOrBePreempted) {
  const TempFolder folder;
  TPUEstimator local = cnn_estimator("local:v3-8", folder / "local");
  local.train(cnn_input, {.max_steps = kSteps});

  auto worker = std::make_unique<WorkerProcess>("local:v3-8");
  const std::string address = worker->address();
  TPUEstimator remote = cnn_estimator(worker->target(), folder / "remote");
  const auto kill = std::make_shared<AtStep>(15, [&] { worker->end(SIGKILL); });
  EXPECT_THAT(error_of([&] { remote.train(cnn_input, {.max_steps = kSteps, .hooks = {kill}}); }),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr(address)));

  worker = std::make_unique<WorkerProcess>("local:v3-8", address);
  const auto preempt = std::make_shared<AtStep>(25, [&] {
    worker->signal(SIGTERM);
    for (int i = 0; i < 500 && !runtime::preempted(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  remote.train(cnn_input, {.max_steps = kSteps, .hooks = {preempt}});
  EXPECT_EQ(worker->wait(), 0);
  EXPECT_EQ(remote.get_variable_value("global_step").as_double(0), 25);

  worker = std::make_unique<WorkerProcess>("local:v3-8", address);
  remote.train(cnn_input, {.max_steps = kSteps});
  EXPECT_EQ(remote.get_variable_value("global_step").as_double(0), kSteps);
  expect_same_variables(local, remote);
}

}  // namespace
}  // namespace systole::testing
