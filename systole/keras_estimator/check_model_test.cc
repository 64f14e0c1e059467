#include "systole/keras_estimator/check_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "systole/base/testing/error_of.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/keras.h"

namespace systole::keras::estimator {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

class CheckModelTest : public ::testing::Test {
 protected:
  static Sequential make_model() {
    Sequential model({layers::Dense(128, {.activation = "relu", .input_shape = Shape{64}}),
                      layers::Dense(10, {.activation = "softmax"})});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    return model;
  }

  Graph graph_;
  GraphScope scope_{graph_};
  const Tensor x_ = Tensor::zeros(DType::f32, {1, 64});
  const Tensor y_ = Tensor::zeros(DType::s64, {1});
};

TEST_F(CheckModelTest, CountsTheMemoryOfACore) {
  const Sequential model = make_model();
  const CheckReport report = check(model, x_, y_, {.batch_size = 1024});
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_EQ(report.step.batch_size, 128);
  EXPECT_GT(report.memory.variables, 3 * 64 * 128 * 4);
  EXPECT_EQ(model.get_weights()[0].shape(), (Shape{64, 128}));
}

TEST_F(CheckModelTest, AsksGooglesCompiler) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto library = program.parent_path().parent_path() / "lib/libsystole_fake_libtpu.so";
  const CheckReport report =
      check(make_model(), x_, y_,
            {.batch_size = 1024, .compile = "v3-8", .tpu_library = library.string()});
  ASSERT_TRUE(report.compiled.has_value());
  EXPECT_THAT(report.to_string(), HasSubstr("Google's compiler (libtpu), for v3-8"));
}

TEST_F(CheckModelTest, NamesWhatDoesNotFit) {
  EXPECT_THAT(error_of([&] {
                check(make_model(), Tensor::zeros(DType::f32, {1, 63}), y_);
              }),
              HasSubstr("Error when checking input: expected dense_input to have shape (64,) but "
                        "got array with shape (63,)"));
  EXPECT_THAT(
      error_of([&] { check(Sequential({layers::Dense(1, {.input_shape = Shape{64}})}), x_, y_); }),
      HasSubstr("The given keras model has not been compiled yet."));
  const CheckReport report = check(make_model(), x_, y_, {.batch_size = 1020});
  EXPECT_THAT(report.to_string(), HasSubstr("must be divisible by number of replicas 8"));
}

}  // namespace
}  // namespace systole::keras::estimator
