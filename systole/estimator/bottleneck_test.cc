// Programs with one bottleneck each: the first advice of their profile names it.
#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "systole/base/testing/sanitized.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/profile/report.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using nlohmann::json;
using systole::testing::TempFolder;
using ::testing::HasSubstr;

using LossFn = std::function<Output(const Output& x)>;

struct Program {
  LossFn loss;
  int64_t features = 8;
  int64_t batch = 1024;
  bool use_tpu = true;
  std::function<Dataset(const Dataset&)> input = nullptr;  // of examples, before they are batched
  HostCallFunction host_call = nullptr;
};

ModelFn model_with_loss(const Program& program) {
  return [=](const Nest<Output>& features, const Nest<Output>&, Mode mode,
             const Params& params) -> TPUEstimatorSpec {
    const Output loss = program.loss(features);
    GradientDescentOptimizer descent(1e-6);
    const Operation train_op =
        params.get("use_tpu", false)
            ? CrossShardOptimizer(descent).minimize(loss, {.global_step = get_global_step()})
            : descent.minimize(loss, {.global_step = get_global_step()});
    TPUEstimatorSpec spec{.mode = mode, .loss = loss, .train_op = train_op};
    if (program.host_call) spec.host_call = {.fn = program.host_call};
    return spec;
  };
}

InputFn input_of(const Program& program) {
  return [=](const Params& params) -> InputFnResult {
    const Tensor example = Tensor::full(DType::f32, {program.features}, 0.5);
    if (!program.input) {
      return Dataset::from_tensors(
                 Tensor::full(DType::f32,
                              {params.get("batch_size", program.batch), program.features}, 0.5))
          .repeat();
    }
    return program.input(Dataset::from_tensors(example).repeat())
        .batch(params.get("batch_size", program.batch), true);
  };
}

// Trains and profiles the program. Returns its figures.
json profile_of(const Program& program) {
  const TempFolder folder;
  MemoryFileSystem files;
  TPUEstimator estimator(
      {.model_fn = model_with_loss(program),
       .model_dir = folder.path(),
       .config = {.save_summary_steps = 0,
                  .save_checkpoints_steps = 0,
                  .tpu_config = {.iterations_per_loop = 10, .check = Check::off}},
       .use_tpu = program.use_tpu,
       .train_batch_size = program.batch});
  estimator.train(input_of(program),
                  {.steps = 40,
                   .profile = ProfileOptions{
                       .start = 10, .steps = 30, .output_dir = "logs", .file_system = &files}});
  json figures = profile::read_profile(files, "logs");
  EXPECT_EQ(figures["steps"], 30);
  return figures;
}

// Other processes of the machine may slow a part of one profile down: makes up to six. Returns the
// last.
json expect_first(const Program& program, const std::string& topic, const std::string& text) {
  json figures;
  for (int i = 0; i < 6; ++i) {
    figures = profile_of(program);
    if (!figures["advice"].empty() && figures["advice"][0]["topic"] == topic) break;
  }
  EXPECT_FALSE(figures["advice"].empty());
  if (figures["advice"].empty()) return figures;
  EXPECT_EQ(figures["advice"][0]["topic"], topic) << profile::report_text(figures);
  EXPECT_THAT(figures["advice"][0]["text"].get<std::string>(), HasSubstr(text));
  return figures;
}

class Bottleneck : public ::testing::Test {
 protected:
  void SetUp() override {
    if (systole::testing::kSanitized) GTEST_SKIP() << "a sanitizer changes what takes the time";
  }
};

Output dense_layers(Output x, int64_t units, int layers) {
  for (int i = 0; i < layers; ++i) x = layers::dense(x, {.units = units, .activation = relu});
  return reduce_mean(square(x));
}

// A model that takes no time.
Output one_weight(const Output& x) {
  return reduce_mean(square(x * Variable(1.0F, {.name = "weight"}).value()));
}

TEST_F(Bottleneck, a_slow_map) {
  const auto slow = [](const Dataset& examples) {
    return examples.map_cpp(
        [](const Element& element) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return element;
        },
        examples.element_spec());
  };
  expect_first({.loss = one_weight, .batch = 16, .input = slow}, "input",
               "The slowest stage is map");
}

TEST_F(Bottleneck, a_tiny_batch) {
  expect_first({.loss = [](const Output& x) { return dense_layers(x, 1024, 3); },
                .features = 1024,
                .batch = 2,
                .use_tpu = false},
               "batch", "The batch is tiny");
}

// Padding costs a TPU, and nothing on the CPU that ran it: it is said last, and gains nothing.
TEST_F(Bottleneck, padding_on_the_virtual_tpu) {
  const json figures = profile_of({.loss = [](const Output& x) { return dense_layers(x, 130, 4); },
                                   .features = 130,
                                   .batch = 2048});
  ASSERT_FALSE(figures["advice"].empty());
  const json last = figures["advice"].back();
  EXPECT_EQ(last["topic"], "padding") << profile::report_text(figures);
  EXPECT_EQ(last["gain"], 0);
  EXPECT_THAT(last["text"].get<std::string>(),
              ::testing::AllOf(HasSubstr("not for this machine"), HasSubstr("multiples of 128")));
}

TEST_F(Bottleneck, a_host_call) {
  expect_first({.loss = one_weight,
                .batch = 16,
                .host_call =
                    [](std::span<const Tensor>) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(3));
                    }},
               "host", "host_call");
}

// The gradient of each replica is an array as large as the weights.
TEST_F(Bottleneck, an_all_reduce) {
  const auto loss = [](const Output& x) {
    const Variable weights(Tensor::full(DType::f32, {2'000'000}, 0.1), {.name = "weights"});
    return reduce_mean(weights.value() * reduce_mean(x));
  };
  const json figures = expect_first({.loss = loss, .batch = 16}, "all-reduce", "on 8 replicas");
  EXPECT_EQ(figures["replicas"], 8);
}

}  // namespace
}  // namespace systole
