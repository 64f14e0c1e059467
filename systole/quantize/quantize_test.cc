#include "systole/quantize/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/quantized.h"
#include "systole/runtime/client.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::quantize {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;
using systole::testing::error_of;
using ::testing::HasSubstr;

class Network {
 public:
  explicit Network(uint64_t seed) : random_(seed) {}

  Tensor normal(const Shape& shape, double scale, double mean = 0) {
    Tensor x(DType::f32, shape);
    for (float& value : x.data<float>()) {
      value = static_cast<float>(mean + scale * random_.next_normal());
    }
    return x;
  }

  // Convolution, batch normalisation, ReLU, pooling, a residual block, dense, softmax.
  std::unique_ptr<hlo::Module> convolutional() {
    auto module = std::make_unique<hlo::Module>("net");
    hlo::Computation& main = module->add_function("main");
    Builder b(main);
    const Value x = main.add_parameter({DType::f32, {8, 12, 12, 3}});
    Value y = relu(b, normalized(b, convolution(b, x, 16)));
    y = pooled(b, y);
    const Value shortcut = y;
    y = relu(b, biased(b, convolution(b, y, 16)));
    y = b.add(biased(b, convolution(b, y, 16)), shortcut);
    y = b.reshape(y, {8, 6 * 6 * 16});
    y = biased(b, dense(b, y, 10));
    main.set_results({b.unary(Opcode::tanh, y)});
    return module;
  }

  // A recurrent cell in a loop of 5 steps.
  std::unique_ptr<hlo::Module> recurrent() {
    auto module = std::make_unique<hlo::Module>("rnn");
    hlo::Computation& main = module->add_function("main");
    Builder b(main);
    const Value x = main.add_parameter({DType::f32, {4, 20}});
    const Value zero = b.scalar(DType::s32, 0);
    const Value state = b.splat({DType::f32, {4, 24}}, 0);
    const auto fill = [&](hlo::Instruction& loop) {
      for (int r = 0; r < 2; ++r) {
        hlo::Computation& region = loop.add_region();
        const Value step = region.add_parameter({DType::s32, {}});
        const Value h = region.add_parameter(state.type());
        Builder in(region);
        if (r == 0) {
          region.set_results(
              {in.compare(step, in.scalar(DType::s32, 5), hlo::ComparisonDirection::lt)});
          continue;
        }
        const std::vector<Value> both{x, h};
        const Value sum = biased(in, dense(in, in.concatenate(both, 1), 24));
        region.set_results({in.add(step, in.scalar(DType::s32, 1)), in.unary(Opcode::tanh, sum)});
      }
    };
    hlo::Instruction* loop = b.op_with_regions(Opcode::while_, {zero, state}, hlo::NoAttrs{}, fill);
    main.set_results({biased(b, dense(b, loop->result(1), 3))});
    return module;
  }

  Value dense(Builder& b, Value x, int64_t units) {
    const int64_t inputs = x.shape()[1];
    const Value w = b.constant(normal({inputs, units}, 1 / std::sqrt(static_cast<double>(inputs))));
    return b.dot_general(x, w,
                         {.lhs_batching_dimensions = {},
                          .rhs_batching_dimensions = {},
                          .lhs_contracting_dimensions = {1},
                          .rhs_contracting_dimensions = {0}});
  }

  Value biased(Builder& b, Value x) {
    const int64_t channels = x.shape()[-1];
    return b.add(x, b.broadcast_in_dim(b.constant(normal({channels}, 0.3)), x.shape(),
                                       {x.shape().rank() - 1}));
  }

 private:
  Value convolution(Builder& b, Value x, int64_t features) {
    const int64_t inputs = x.shape()[3];
    const Value w = b.constant(
        normal({3, 3, inputs, features}, 1 / std::sqrt(9 * static_cast<double>(inputs))));
    hlo::ConvolutionAttrs attrs;
    attrs.window_strides = attrs.lhs_dilation = attrs.rhs_dilation = {1, 1};
    attrs.padding = {{1, 1}, {1, 1}};
    attrs.window_reversal = {false, false};
    attrs.input_feature_dimension = attrs.output_feature_dimension = 3;
    attrs.kernel_input_feature_dimension = 2;
    attrs.kernel_output_feature_dimension = 3;
    attrs.input_spatial_dimensions = attrs.output_spatial_dimensions = {1, 2};
    attrs.kernel_spatial_dimensions = {0, 1};
    return b.op(Opcode::convolution, {x, w}, attrs)->result();
  }

  Value normalized(Builder& b, Value x) {
    const Shape channels{x.shape()[3]};
    return b
        .op(Opcode::batch_norm_inference,
            {x, b.constant(normal(channels, 0.5, 1)), b.constant(normal(channels, 0.5)),
             b.constant(normal(channels, 0.5)), b.constant(normal(channels, 0.1, 1))},
            hlo::BatchNormAttrs{.epsilon = 0.001F, .feature_index = 3})
        ->result();
  }

  static Value relu(Builder& b, Value x) { return b.maximum(x, b.splat(x.type(), 0)); }

  static Value pooled(Builder& b, Value x) {
    const Value least = b.scalar(DType::f32, -INFINITY);
    hlo::WindowAttrs attrs;
    attrs.window_dimensions = attrs.window_strides = {1, 2, 2, 1};
    attrs.base_dilations = attrs.window_dilations = {1, 1, 1, 1};
    attrs.padding = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    return b
        .op_with_regions(Opcode::reduce_window, {x, least}, attrs,
                         [](hlo::Instruction& window) {
                           hlo::fill_reducer(window.add_region(), Opcode::maximum, DType::f32);
                         })
        ->result();
  }

  RandomStream random_;
};

double noise_ratio(const Tensor& got, const Tensor& want) {
  double signal = 0;
  double noise = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    signal += want.as_double(i) * want.as_double(i);
    noise += std::pow(got.as_double(i) - want.as_double(i), 2);
  }
  return 10 * std::log10(signal / noise);
}

std::vector<Tensor> run_on(std::string_view backend, const hlo::Module& module,
                           const std::vector<Tensor>& arguments) {
  return runtime::run(*runtime::client(backend).compile(module), arguments);
}

TEST(QuantizeTest, QuantizesAConvolutionalNetwork) {
  Network network(3);
  const auto module = network.convolutional();
  std::vector<std::vector<Tensor>> batches;
  for (int i = 0; i < 3; ++i) batches.push_back({network.normal({8, 12, 12, 3}, 1)});
  const std::vector<Tensor> test{network.normal({8, 12, 12, 3}, 1)};
  const Tensor want = run_on("cpu", *module, test)[0];
  for (const RangeMethod method :
       {RangeMethod::min_max, RangeMethod::percentile, RangeMethod::mse}) {
    for (const auto rounding :
         {std::optional<FixedPointRounding>(), std::optional(FixedPointRounding::tflite),
          std::optional(FixedPointRounding::single)}) {
      const bool measure = !rounding;
      const Quantized quantized =
          quantize(*module, batches, {.method = method, .rounding = rounding, .measure = measure});
      const std::string text = hlo::print(*quantized.module);
      EXPECT_EQ(text.find("batch_norm"), std::string::npos);
      EXPECT_EQ(hlo::print(*hlo::parse(text)), text);
      const Tensor got = run_on("cpu", *quantized.module, test)[0];
      EXPECT_GT(noise_ratio(got, want), 25);
      EXPECT_TRUE(got.identical(run_on("reference", *quantized.module, test)[0]));
      const Report& report = quantized.report;
      ASSERT_EQ(report.layers.size(), 4U);
      EXPECT_EQ(report.products, 4);
      EXPECT_GT(report.constant_bytes_before,
                3.5 * static_cast<double>(report.constant_bytes_after));
      for (const LayerReport& layer : report.layers) {
        EXPECT_EQ(std::isnan(layer.sqnr), !measure);
        if (!measure) continue;
        EXPECT_GT(layer.sqnr, 20) << report.to_string();
        EXPECT_LT(layer.saturation, 0.02) << report.to_string();
      }
      EXPECT_EQ(report.layers[0].zero_point, -128);  // after a ReLU
    }
  }
}

TEST(QuantizeTest, QuantizesLoops) {
  Network network(5);
  const auto module = network.recurrent();
  const std::vector<std::vector<Tensor>> batches{{network.normal({4, 20}, 1)}};
  const Quantized quantized = quantize(*module, batches, {});
  EXPECT_EQ(quantized.report.layers.size(), 2U);
  EXPECT_THAT(hlo::print(*quantized.module), HasSubstr("i32:f32:1"));
  const Tensor want = run_on("cpu", *module, batches[0])[0];
  const Tensor got = run_on("cpu", *quantized.module, batches[0])[0];
  EXPECT_GT(noise_ratio(got, want), 25);
  EXPECT_TRUE(got.identical(run_on("reference", *quantized.module, batches[0])[0]));
}

TEST(QuantizeTest, QuantizesTablesOfLookups) {
  Network network(9);
  hlo::Module module("embedding");
  hlo::Computation& main = module.add_function("main");
  Builder b(main);
  const Value words = main.add_parameter({DType::s32, {4, 3}});
  const Value rows = b.op(Opcode::gather, {b.constant(network.normal({60, 8}, 1)), words},
                          hlo::GatherAttrs{.offset_dims = {2},
                                           .collapsed_slice_dims = {0},
                                           .start_index_map = {0},
                                           .index_vector_dim = 2,
                                           .slice_sizes = {1, 8}},
                          {{DType::f32, {4, 3, 8}}})
                         ->result();
  main.set_results({network.biased(b, network.dense(b, b.reshape(rows, {4, 24}), 5))});
  const std::vector<std::vector<Tensor>> batches{
      {Tensor({4, 3}, {0, 7, 59, 3, 3, 12, 40, 41, 42, 5, 6, 58})}};
  const Quantized quantized = quantize(module, batches, {});
  EXPECT_GT(quantized.report.constant_bytes_before, 3 * quantized.report.constant_bytes_after);
  EXPECT_THAT(hlo::print(*quantized.module), HasSubstr("tensor<4x3x8x!quant"));
  const Tensor got = run_on("cpu", *quantized.module, batches[0])[0];
  EXPECT_GT(noise_ratio(got, run_on("cpu", module, batches[0])[0]), 25);
  EXPECT_TRUE(got.identical(run_on("reference", *quantized.module, batches[0])[0]));
  EXPECT_TRUE(got.identical(run_on("tpu_v1", *quantized.module, batches[0])[0]));
}

TEST(QuantizeTest, NamesWhatIsWrong) {
  Network network(1);
  const auto module = network.convolutional();
  const Tensor good = network.normal({8, 12, 12, 3}, 1);
  Tensor bad = good.clone();
  bad.data<float>()[7] = NAN;
  const auto error = [&](std::vector<std::vector<Tensor>> batches) {
    return error_of([&] { quantize(*module, batches, {}); });
  };
  EXPECT_EQ(error({}), "INVALID_ARGUMENT: calibration: batches, got none, expected some");
  EXPECT_EQ(error({{good}, {bad}}),
            "INVALID_ARGUMENT: calibration: batch 1: argument 0, element 7, got nan, expected a "
            "finite number");
  EXPECT_EQ(error({{Tensor(DType::f32, {8, 12, 12})}}),
            "INVALID_ARGUMENT: calibration: batch 0: argument 0, got f32[8,12,12], expected "
            "f32[8,12,12,3]");
  EXPECT_EQ(error({{good, good}}),
            "INVALID_ARGUMENT: calibration: batch 0: number of arguments, got 2, expected 1");
  const auto empty = hlo::parse(
      "func.func @main() -> tensor<f32> {\n%0 = stablehlo.constant "
      "dense<1.0> : tensor<f32>\nreturn %0 : tensor<f32>\n}");
  EXPECT_THAT(error_of([&] { quantize(*empty, {}, {}); }),
              HasSubstr("got 0 products, none of f32 with constant weights"));
}

TEST(RangesTest, FollowTheMethod) {
  Histogram histogram;
  Tensor x(DType::f32, {100000});
  for (size_t i = 0; i < 100000; ++i) {
    x.data<float>()[i] = static_cast<float>(i) / 100000;
  }
  x.data<float>()[0] = -1;
  x.data<float>()[1] = 40;
  histogram.add(x);
  EXPECT_EQ(histogram.range(RangeMethod::min_max), (Range{-1, 40}));
  const Range most = histogram.range(RangeMethod::percentile, 99.9);
  EXPECT_NEAR(most.least, 0, 0.04);
  EXPECT_NEAR(most.greatest, 1, 0.07);
  EXPECT_LT(histogram.range(RangeMethod::mse).greatest, 39);
  EXPECT_THAT(error_of([&] { histogram.range(RangeMethod::percentile, 30); }),
              HasSubstr("(50, 100]"));
  EXPECT_THAT(error_of([] { range_method_from_name("best"); }), HasSubstr("got 'best'"));
}

TEST(RangesTest, TypesRepresentZeroExactly) {
  EXPECT_EQ(activation_type({0, 2.55})->zero_points[0], -128);
  EXPECT_EQ(activation_type({-2.55, 0})->zero_points[0], 127);
  EXPECT_EQ(activation_type({1, 2.55})->zero_points[0], -128);  // from 0 on
  EXPECT_EQ(activation_type({-1.27, 1.28})->zero_points[0], -1);
  EXPECT_EQ(activation_type({0, 0})->scales[0], 1);
  const QuantizedWeights weights = quantize_weights(Tensor({2, 2}, {1.0F, 0.0F, -2.54F, 0.0F}), 1);
  EXPECT_EQ(weights.values.data<int8_t>()[2], -127);
  EXPECT_EQ(weights.values.data<int8_t>()[0], 50);
  EXPECT_EQ(weights.type->scales[1], 1);
  const Tensor bias = quantize_bias(Tensor({2}, {0.25F, -1e30F}), std::vector<double>{0.1});
  EXPECT_EQ(bias.data<int32_t>()[0], 3);  // 2.5, away from zero
  EXPECT_EQ(bias.data<int32_t>()[1], INT32_MIN);
}

}  // namespace
}  // namespace systole::quantize
