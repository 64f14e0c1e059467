// Kernels that keep copies of weights see each change of them.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

// A layer with weights, and a step that updates them in place.
struct Layer {
  const char* predict;
  const char* update;
  std::vector<TensorType> types;  // input, weights
};

const Layer kDense{
    R"(func.func public @main(%x: tensor<1x512xf32>, %w: tensor<512x1040xf32>) -> tensor<1x1040xf32> {
      %r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x512xf32>, tensor<512x1040xf32>) -> tensor<1x1040xf32>
      return %r : tensor<1x1040xf32>
    })",
    R"(func.func public @main(%w: tensor<512x1040xf32> {tf.aliasing_output = 0 : i32}) -> tensor<512x1040xf32> {
      %r = stablehlo.add %w, %w : tensor<512x1040xf32>
      return %r : tensor<512x1040xf32>
    })",
    {{DType::f32, {1, 512}}, {DType::f32, {512, 1040}}}};

const Layer kConvolution{
    R"(func.func public @main(%x: tensor<1x8x8x64xf32>, %w: tensor<3x3x64x96xf32>) -> tensor<1x8x8x96xf32> {
      %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x64xf32>, tensor<3x3x64x96xf32>) -> tensor<1x8x8x96xf32>
      return %r : tensor<1x8x8x96xf32>
    })",
    R"(func.func public @main(%w: tensor<3x3x64x96xf32> {tf.aliasing_output = 0 : i32}) -> tensor<3x3x64x96xf32> {
      %r = stablehlo.add %w, %w : tensor<3x3x64x96xf32>
      return %r : tensor<3x3x64x96xf32>
    })",
    {{DType::f32, {1, 8, 8, 64}}, {DType::f32, {3, 3, 64, 96}}}};

class KeptWeights : public ::testing::TestWithParam<const Layer*> {
 protected:
  KeptWeights() : predict_(testing::client().compile(*hlo::parse(GetParam()->predict), {})) {
    RandomStream random(91);
    for (const TensorType& type : GetParam()->types)
      values_.push_back(testing::random_tensor(random, type, -1, 1));
  }

  Tensor predict(runtime::Buffer& input, runtime::Buffer& weights) {
    Tensor output;
    const std::vector<runtime::Argument> arguments = {{.buffer = &input}, {.buffer = &weights}};
    const std::vector<runtime::Result> results = {{.host = &output}};
    predict_->execute(arguments, results).wait();
    return output;
  }

  std::unique_ptr<runtime::Executable> predict_;
  std::vector<Tensor> values_;
};

// Doubled weights give the double of every sum, bit for bit.
Tensor doubled(const Tensor& x) {
  Tensor result = x.clone();
  for (float& element : result.data<float>()) element *= 2;
  return result;
}

TEST_P(KeptWeights, GiveTheSameBitsInEveryRun) {
  auto& client = testing::client();
  const auto input = client.buffer_from_host(values_[0]);
  const auto weights = client.buffer_from_host(values_[1]);
  const Tensor first = predict(*input, *weights);
  for (int run = 0; run < 4; ++run) EXPECT_TRUE(predict(*input, *weights).identical(first));
  const auto module = hlo::parse(GetParam()->predict);
  EXPECT_EQ(testing::difference(first, testing::run(*module, values_)[0], {}), "");
}

TEST_P(KeptWeights, FollowAnUpdateInPlace) {
  auto& client = testing::client();
  const auto update = client.compile(*hlo::parse(GetParam()->update), {});
  const auto input = client.buffer_from_host(values_[0]);
  const auto weights = client.buffer_from_host(values_[1]);
  Tensor before;
  for (int run = 0; run < 3; ++run) before = predict(*input, *weights);
  const std::vector<runtime::Argument> arguments = {{.buffer = weights.get(), .donate = true}};
  const std::vector<runtime::Result> results(1);
  update->execute(arguments, results).wait();
  for (int run = 0; run < 3; ++run)
    EXPECT_TRUE(predict(*input, *weights).identical(doubled(before))) << run;
}

TEST_P(KeptWeights, FollowOtherBuffers) {
  auto& client = testing::client();
  const auto input = client.buffer_from_host(values_[0]);
  Tensor before;
  for (int round = 0; round < 4; ++round) {
    // Probably at the address of the buffer before.
    const auto weights = client.buffer_from_host(round % 2 == 0 ? values_[1] : doubled(values_[1]));
    for (int run = 0; run < 3; ++run) {
      const Tensor output = predict(*input, *weights);
      if (round == 0) before = output;
      EXPECT_TRUE(output.identical(round % 2 == 0 ? before : doubled(before))) << round << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, KeptWeights, ::testing::Values(&kDense, &kConvolution));

}  // namespace
}  // namespace systole::cpu
