// What a TPU would refuse, all at once, and the memory of a step.
#include "systole/estimator/check/check.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/runtime/tpu_tiles.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PaddedBytes, are_those_of_tiles) {
  struct Case {
    TensorType type;
    int64_t bytes;
  };
  const std::vector<Case> cases = {
      {{DType::f32, {}}, 4},
      {{DType::f32, {10}}, 128 * 4},
      {{DType::f32, {8, 128}}, 8 * 128 * 4},
      {{DType::f32, {128, 8}}, 8 * 128 * 4},      // the other way round
      {{DType::f32, {9, 129}}, 16 * 256 * 4},     // or [136, 256]
      {{DType::f32, {1024, 10}}, 1024 * 16 * 4},  // 10 -> 16 rather than 128
      {{DType::bf16, {16, 128}}, 16 * 128 * 2},   // two rows in a word
      {{DType::bf16, {8, 128}}, 128 * 16 * 2},
      {{DType::u8, {32, 128}}, 32 * 128},
      {{DType::f32, {128, 28, 28, 32}}, int64_t{128} * 28 * 28 * 32 * 4},  // batch and channels
      {{DType::f32, {0, 5}}, 0},
  };
  for (const Case& c : cases)
    EXPECT_EQ(runtime::padded_bytes(c.type), c.bytes) << c.type.to_string();
}

// A model over batches of 16 examples of 4 numbers.
CheckReport check(const ModelFn& model_fn, int64_t core_memory = 0) {
  const estimator::Input input{.datasets = {},
                               .layout = estimator::Layout::split,
                               .replicas = 8,
                               .features = TensorType{DType::f32, {16, 4}},
                               .labels = TensorType{DType::f32, {16, 1}},
                               .replica_batch = 16};
  const estimator::Model model = estimator::trace(
      model_fn, input, {.mode = Mode::train, .replicas = 8, .use_tpu = true, .params = {}});
  return estimator::check_model(model, {.replicas = 8, .core_memory = core_memory});
}

TPUEstimatorSpec model_of(const Nest<Output>& x, const Nest<Output>& y, int64_t units) {
  const Output hidden = layers::dense(x, {.units = units, .activation = tanh, .name = "wide"});
  const Output loss = losses::mean_squared_error(
      {.labels = y, .predictions = layers::dense(hidden, {.units = 1, .name = "out"})});
  return {.mode = Mode::train,
          .loss = loss,
          .train_op = CrossShardOptimizer(MomentumOptimizer(0.1, 0.9))
                          .minimize(loss, {.global_step = get_global_step()})};
}

TEST(CheckModel, counts_the_memory_of_a_step) {
  const auto model_fn = [](const Nest<Output>& x, const Nest<Output>& y, Mode, const Params&) {
    return model_of(x, y, 1 << 20);
  };
  const CheckReport report = check(model_fn);
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_TRUE(report.memory.complete);
  EXPECT_EQ(report.memory.limit, 8'034'172'928);
  // Two kernels and a bias of a million columns, each with its momentum; 4 rows become 8, 1 does
  // too, a vector stays.
  const int64_t column = int64_t{4} << 20;
  EXPECT_NEAR(static_cast<double>(report.memory.variables), static_cast<double>(2 * 17 * column),
              1e5);
  // The activations of 16 examples at least.
  EXPECT_GE(report.memory.step, 16 * column);
  EXPECT_LE(report.memory.step, 16 * column * 8);
  EXPECT_GT(report.memory.largest.size(), 10U);
  EXPECT_LE(report.memory.largest.size(), 20U);
  EXPECT_THAT(report.to_string(), AllOf(HasSubstr("nothing that a TPU would refuse"),
                                        HasSubstr("memory of a core: "), HasSubstr("of 7.5 GiB"),
                                        HasSubstr("f32[16,1048576]"), HasSubstr("check_test.cc:")));
}

// Another view of what is there, and what is computed again where it is used.
TEST(CheckModel, counts_no_memory_for_views_and_repeated_values) {
  constexpr int64_t kUnits = 1 << 16;
  const auto step_with = [](Output (*of_hidden)(const Output&),
                            Output (*of_labels)(const Output&)) {
    const auto model_fn = [=](const Nest<Output>& x, const Nest<Output>& y, Mode, const Params&) {
      return model_of(of_hidden(layers::dense(x, {.units = kUnits})), of_labels(y), 8);
    };
    return check(model_fn).memory.step;
  };
  const auto same = [](const Output& x) { return x; };
  const auto views = [](const Output& x) {
    const Output flat = reshape(identity(x), {16 * kUnits});
    return squeeze(expand_dims(reshape(flat, {16, kUnits}), 0), {.axis = 0});
  };
  const auto repeated = [](const Output& y) {
    const Output ones = ones_like(zeros_like(fill({1 << 22}, 1.0F)));
    return y + reduce_sum(ones) + reduce_sum(broadcast_to(constant(2.0F), {1 << 22}));
  };
  const int64_t plain = step_with(same, same);
  // Products round what they read.
  EXPECT_GE(plain, 16 * kUnits * 2);
  EXPECT_EQ(step_with(views, same), plain);
  EXPECT_LT(step_with(same, repeated), plain + (1 << 16));
}

TEST(CheckModel, refuses_what_does_not_fit_into_a_core) {
  const auto model_fn = [](const Nest<Output>& x, const Nest<Output>& y, Mode, const Params&) {
    return model_of(x, y, 1 << 20);
  };
  const CheckReport report = check(model_fn, int64_t{1} << 27);
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(error_of([&] { estimator::enforce(report, Check::error); }),
              AllOf(HasSubstr("1 thing a TPU would refuse"),
                    HasSubstr("a step does not fit into a core: memory of a core: "),
                    HasSubstr("of 128.0 MiB"), HasSubstr("a smaller batch, more cores")));
  EXPECT_EQ(error_of([&] { estimator::enforce(report, Check::warn); }), "no error");
}

// Each with the user's line and what to do.
TEST(CheckModel, says_everything_at_once) {
  const auto model_fn = [](const Nest<Output>& x, const Nest<Output>& y, Mode, const Params&) {
    const Output wide = cast(x, DType::f64);
    const Output texts = as_string(reduce_sum(wide));
    const Output loss = losses::mean_squared_error(
        {.labels = y,
         .predictions = layers::dense(cast(wide, DType::f32), {.units = 1}) +
                        string_to_number(texts, {.out_type = DType::f32})});
    return TPUEstimatorSpec{.mode = Mode::train,
                            .loss = loss,
                            .train_op = GradientDescentOptimizer(0.1).minimize(
                                loss, {.global_step = get_global_step()})};
  };
  const CheckReport report = check(model_fn);
  EXPECT_THAT(error_of([&] { estimator::enforce(report, Check::error); }),
              AllOf(HasSubstr("dtype float64 of node"), HasSubstr("check_test.cc:"),
                    HasSubstr("cast it to float32"), HasSubstr("(AsString) runs on the host only"),
                    HasSubstr("move it to the input_fn, or to a host_call"),
                    HasSubstr("CrossShardOptimizer must be used for model training on TPUs.")));
}

TEST(CheckModel, says_where_a_dtype_comes_from) {
  const auto model_fn = [](const Nest<Output>& x, const Nest<Output>& y, Mode, const Params&) {
    const Output loss = losses::mean_squared_error(
        {.labels = y,
         .predictions = cast(layers::dense(cast(x, DType::f64), {.units = 1}), DType::f32)});
    return TPUEstimatorSpec{.mode = Mode::train,
                            .loss = loss,
                            .train_op = CrossShardOptimizer(GradientDescentOptimizer(0.1))
                                            .minimize(loss, {.global_step = get_global_step()})};
  };
  std::vector<std::string> told;
  for (const Violation& violation : check(model_fn).violations) told.push_back(violation.what);
  // The cast and the layer's variables, and none of what is computed with them.
  EXPECT_THAT(told, ElementsAre(HasSubstr("dtype float64 of node 'Cast' at "),
                                HasSubstr("dtype float64 of node 'dense/kernel/Read"),
                                HasSubstr("dtype float64 of node 'dense/bias/Read")));
}

}  // namespace
}  // namespace systole
