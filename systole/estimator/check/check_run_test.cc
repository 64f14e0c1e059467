// What a TPU would say of runs of a session.
#include "systole/estimator/check_run.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "systole/base/testing/error_of.h"
#include "systole/data/sources.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/functions/tpu_replicate.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/tpu_tiles.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 4096;

Output loss_of(const Output& x, const Output& y) {
  const Output hidden = layers::dense(x, {.units = kWidth, .activation = tanh, .name = "wide"});
  return losses::mean_squared_error(
      {.labels = y, .predictions = layers::dense(hidden, {.units = 1, .name = "out"})});
}

std::string fake_library() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "lib/libsystole_fake_libtpu.so").string();
}

bool has_sums(const hlo::Module& module) {
  return std::ranges::any_of(module.entry().instructions(), [](const hlo::Instruction* x) {
    return x->is(hlo::Opcode::all_reduce);
  });
}

class CheckRun : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  const Output x_ = placeholder(DType::f32, {-1, 256}, "x");
  const Output y_ = placeholder(DType::f32, {-1, 1}, "y");
};

TEST_F(CheckRun, counts_the_memory_of_a_training_run) {
  const Output loss = loss_of(x_, y_);
  const Operation train = MomentumOptimizer(0.1, 0.9).minimize(loss);
  const CheckReport report = check_run({train, loss}, {{x_, {1024, 256}}, {"y", {1024, 1}}});
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_EQ(report.step.batch_size, 1024);
  EXPECT_EQ(report.memory.inputs, runtime::padded_bytes({DType::f32, {1024, 256}}) +
                                      runtime::padded_bytes({DType::f32, {1024, 1}}));
  // The kernels and their momentum.
  EXPECT_GE(report.memory.variables, 2 * 256 * kWidth * 4);
  // The activations.
  EXPECT_GE(report.memory.step, 1024 * kWidth * 2);
  EXPECT_THAT(report.to_string(),
              AllOf(HasSubstr("nothing that a TPU would refuse"), HasSubstr("check_run_test.cc:")));
  // Twice the batch.
  const CheckReport twice = check_run({train, loss}, {{x_, {2048, 256}}, {y_, {2048, 1}}});
  EXPECT_GE(twice.memory.step, report.memory.step + 1024 * kWidth * 2);
}

TEST_F(CheckRun, needs_shapes_that_tensors_can_have) {
  const Output loss = loss_of(x_, y_);
  const CheckReport report = check_run({loss}, {{x_, {16, 256}}});
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.step.module, nullptr);
  EXPECT_THAT(report.to_string(), AllOf(HasSubstr("input 'y:0' has the unknown shape f32[?,1]"),
                                        HasSubstr("give check_run its shape")));
  EXPECT_THAT(error_of([&] {
                check_run({loss}, {{x_, {16, 255}}});
              }),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("shape of the feed 'x:0'")));
  EXPECT_THAT(error_of([&] { check_run({loss}, {{"labels", {16, 1}}}); }), HasSubstr("labels"));
  // A placeholder of a known shape.
  const Output z = placeholder(DType::f32, {16, 256}, "z");
  EXPECT_TRUE(check_run({reduce_sum(z)}).ok());
}

TEST_F(CheckRun, tells_what_a_core_does_not_have) {
  const Output wide = cast(x_, DType::f64);
  const CheckReport report = check_run({reduce_sum(wide)}, {{x_, {16, 256}}});
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.to_string(), AllOf(HasSubstr("dtype float64 of node 'Cast' at "),
                                        HasSubstr("check_run_test.cc:")));
}

// A reader of text in front of the program, and a message of its result after it.
TEST_F(CheckRun, feeds_what_the_host_computes) {
  const Output text = placeholder(DType::string, {16, 1}, "text");
  const Output loss = loss_of(x_, string_to_number(text, {.out_type = DType::f32}));
  const CheckReport report = check_run({loss}, {{x_, {16, 256}}});
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_THAT(report.to_string(),
              AllOf(HasSubstr("note. 1 step on the host"), HasSubstr("(StringToNumber)")));
  ASSERT_NE(report.step.module, nullptr);
  EXPECT_EQ(report.memory.inputs, runtime::padded_bytes({DType::f32, {16, 256}}) +
                                      runtime::padded_bytes({DType::f32, {16, 1}}));
  EXPECT_FALSE(check_run({as_string(1.0F)}).ok());
}

// The batch is that of a data set, whose last one could be smaller.
TEST_F(CheckRun, takes_shapes_of_what_a_data_set_gives) {
  auto iterator = Dataset::from_tensor_slices(Tensor::zeros(DType::f32, {64, 256}))
                      .batch(16)
                      .make_one_shot_iterator();
  const Output batch = iterator.get_next().flatten()[0];
  const Output loss = loss_of(batch, placeholder(DType::f32, {16, 1}, "labels"));
  EXPECT_THAT(check_run({loss}).to_string(), HasSubstr("has the unknown shape f32[?,256]"));
  const CheckReport report = check_run({loss}, {{batch, {16, 256}}});
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_EQ(report.step.input_bytes, 16 * 257 * 4);
}

// A core has an eighth of the batch, and adds up its gradients with the others.
TEST_F(CheckRun, checks_what_one_core_of_a_shard_runs) {
  const auto train_on = [](bool sums) {
    Graph graph;
    const GraphScope scope(graph);
    const Output x = placeholder(DType::f32, {1024, 256}, "features");
    const Output y = placeholder(DType::f32, {1024, 1}, "labels");
    const auto step = [&](const std::vector<Output>& in) {
      const Output loss = loss_of(in[0], in[1]);
      auto plain = GradientDescentOptimizer(0.1);
      const Operation train =
          sums ? CrossShardOptimizer(plain).minimize(loss) : plain.minimize(loss);
      const ControlDependencies after({train});
      return std::vector<Output>{identity(loss)};
    };
    const std::vector<Output> losses = tpu::shard(step, {x, y}, {.num_shards = 8});
    return check_run({reduce_mean(losses[0])});
  };
  const CheckReport report = train_on(true);
  EXPECT_TRUE(report.ok()) << report.to_string();
  ASSERT_NE(report.step.module, nullptr);
  EXPECT_TRUE(has_sums(*report.step.module));
  EXPECT_EQ(report.step.batch_size, 128);
  EXPECT_EQ(report.step.input_bytes, 128 * 257 * 4);
  EXPECT_THAT(train_on(false).to_string(), HasSubstr("CrossShardOptimizer must be used"));
}

TEST_F(CheckRun, checks_a_rewritten_computation) {
  const Variable w(Tensor::zeros(DType::f32, {256, 1}), "w");
  const std::vector<Output> made = tpu::rewrite(
      [&](const std::vector<Output>& in) {
        return std::vector<Output>{w.assign_add(matmul(in[0], in[1], {.transpose_a = true}))};
      },
      {x_, y_});
  const CheckReport report = check_run({made[0]}, {{x_, {64, 256}}, {y_, {64, 1}}});
  EXPECT_TRUE(report.ok()) << report.to_string();
  ASSERT_NE(report.step.module, nullptr);
  // The update is written over the variable.
  EXPECT_EQ(report.step.module->aliases.size(), 1U);
  EXPECT_EQ(report.step.input_bytes, 64 * 257 * 4);
}

// A library that stands for Google's compiler takes the program.
TEST_F(CheckRun, is_judged_by_googles_compiler) {
  const Output loss = loss_of(x_, y_);
  const TPUCheckOptions options{.compile = "v3-8", .tpu_library = fake_library()};
  const CheckReport report = check_run({loss}, {{x_, {16, 256}}, {y_, {16, 1}}}, options);
  ASSERT_TRUE(report.compiled.has_value());
  ASSERT_TRUE(report.estimate.has_value());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.memory.limit, report.compiled->limit);
  EXPECT_THAT(report.to_string(), AllOf(HasSubstr("Google's compiler (libtpu), for v3-8"),
                                        HasSubstr("beside our own verdict\n  memory: ours ")));
  // Today's compiler has more types than the TPUs of 2018.
  const Output wide = reduce_sum(cast(x_, DType::f64));
  const CheckReport emulated = check_run({wide}, {{x_, {16, 256}}}, options);
  EXPECT_TRUE(emulated.ok());
  EXPECT_THAT(emulated.differences(),
              Contains(HasSubstr("Google's compiler takes, and we refuse: dtype float64")));
  EXPECT_THAT(error_of([&] { check_run({loss}, {}, options); }),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("has the unknown shape")));
}

}  // namespace
}  // namespace systole
