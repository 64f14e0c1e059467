#include "systole/runtime/batched_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;

// Sums the columns of examples, for a batch of 4.
constexpr const char* kColumnSums = R"(
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %y : tensor<4xf32>
  return %1, %x : tensor<4xf32>, tensor<4x2xf32>
})";

TEST(BatchedProgramTest, RunsAnyNumberOfExamples) {
  const BatchedProgram program(client("cpu"), *hlo::parse(kColumnSums));
  EXPECT_EQ(program.batch(), 4);
  for (const int64_t examples : {0, 1, 4, 11}) {
    Tensor x(DType::f32, {examples, 2});
    Tensor y(DType::f32, {examples});
    for (int64_t i = 0; i < examples; ++i) {
      x.data<float>()[2 * i] = static_cast<float>(i);
      x.data<float>()[2 * i + 1] = 100;
      y.data<float>()[i] = 0.5F;
    }
    const std::vector<Tensor> results = program.run(std::vector<Tensor>{x, y});
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].shape(), (Shape{examples}));
    EXPECT_TRUE(results[1].identical(x));
    for (int64_t i = 0; i < examples; ++i)
      EXPECT_EQ(results[0].as_double(i), static_cast<double>(i) + 100.5) << i;
  }
}

TEST(BatchedProgramTest, NamesWhatIsWrong) {
  const BatchedProgram program(client("cpu"), *hlo::parse(kColumnSums));
  const Tensor x = Tensor::zeros(DType::f32, {3, 2});
  const auto error = [&](std::vector<Tensor> inputs) {
    return error_of([&] { program.run(inputs); });
  };
  EXPECT_EQ(error({x}), "INVALID_ARGUMENT: program of a batch: inputs, got 1, expected 2");
  EXPECT_EQ(error({x, Tensor::zeros(DType::f32, {2})}),
            "INVALID_ARGUMENT: program of a batch: input 1, got f32[2], expected f32[4] of 3 "
            "examples");
  EXPECT_EQ(error({Tensor::zeros(DType::f64, {3, 2}), Tensor::zeros(DType::f32, {3})}),
            "INVALID_ARGUMENT: program of a batch: input 0, got f64[3,2], expected f32[4,2] of 3 "
            "examples");
  const auto without_batch = hlo::parse(
      "func.func @main(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4xf32> {\n"
      "  return %x : tensor<4xf32>\n}");
  EXPECT_EQ(error_of([&] { BatchedProgram(client("cpu"), *without_batch); }),
            "INVALID_ARGUMENT: program of a batch: parameter 1, got f32[3], expected 4 as the "
            "first dimension");
}

}  // namespace
}  // namespace systole::runtime
