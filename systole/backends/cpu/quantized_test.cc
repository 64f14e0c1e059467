// Programs on quantized types: equal to the reference in every bit.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/testing/quantized_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

TEST(CpuQuantizedTest, RunsRandomPrograms) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const hlo::testing::QuantizedProgram program = hlo::testing::random_quantized_program(seed);
    const auto module = hlo::parse(program.text);
    const std::vector<Tensor> expected = hlo::Evaluator().run(module->entry(), program.arguments);
    for (const bool optimize : {true, false}) {
      const std::vector<Tensor> got =
          testing::run(*module, program.arguments, {.optimize = optimize});
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(got[i].identical(expected[i]))
            << "seed " << seed << ", result " << i << ", optimize " << optimize << "\n"
            << program.text << got[i].to_string() << "\nexpected\n"
            << expected[i].to_string();
      }
    }
  }
}

// Large enough for oneDNN's int8 kernels.
TEST(CpuQuantizedTest, RunsLargeProducts) {
  RandomStream random(5);
  for (const std::string rounding : {"", "attributes {systole.rounding = \"tflite\"}"}) {
    const auto module = hlo::parse("module @m " + rounding + R"( {
func.func @main(%x: tensor<64x28x28x32x!quant.uniform<i8:f32, 0.1:-7>>, %w: tensor<3x3x32x48x!quant.uniform<i8:f32, 0.1>>, %d: tensor<37632x10x!quant.uniform<i8:f32, 0.1>>) -> (tensor<64x28x28x48x!quant.uniform<i8:f32, 3.7:5>>, tensor<64x10x!quant.uniform<i8:f32, 77.7>>) {
  %s = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x28x28x32x!quant.uniform<i8:f32, 0.1:-7>>, tensor<3x3x32x48x!quant.uniform<i8:f32, 0.1>>) -> tensor<64x28x28x48x!quant.uniform<i32:f32, 0.01>>
  %r = stablehlo.uniform_quantize %s : (tensor<64x28x28x48x!quant.uniform<i32:f32, 0.01>>) -> tensor<64x28x28x48x!quant.uniform<i8:f32, 3.7:5>>
  %f = stablehlo.reshape %r : (tensor<64x28x28x48x!quant.uniform<i8:f32, 3.7:5>>) -> tensor<64x37632x!quant.uniform<i8:f32, 3.7:5>>
  %p = stablehlo.dot_general %f, %d, contracting_dims = [1] x [0] : (tensor<64x37632x!quant.uniform<i8:f32, 3.7:5>>, tensor<37632x10x!quant.uniform<i8:f32, 0.1>>) -> tensor<64x10x!quant.uniform<i8:f32, 77.7>>
  return %r, %p : tensor<64x28x28x48x!quant.uniform<i8:f32, 3.7:5>>, tensor<64x10x!quant.uniform<i8:f32, 77.7>>
}
})");
    std::vector<Tensor> arguments;
    for (int i = 0; i < 3; ++i) {
      const TensorType type = module->entry().parameter(i).type().storage();
      arguments.push_back(testing::random_tensor(random, type, -128, 128));
    }
    const auto expected = hlo::Evaluator().run(module->entry(), arguments);
    const auto got = testing::run(*module, arguments);
    EXPECT_TRUE(got[0].identical(expected[0]));
    EXPECT_TRUE(got[1].identical(expected[1]));
  }
}

}  // namespace
}  // namespace systole::cpu
