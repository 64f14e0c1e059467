// Quantized programs on the machine against the reference, bit for bit.
#include "systole/tpu_v1/compiler/module_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/backends/tpu_v1/client/staged_executable.h"
#include "systole/backends/tpu_v1/testing/quantized_maker.h"
#include "systole/base/testing/error_of.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::tpu_v1 {
namespace {

using hlo::Value;
using systole::testing::error_of;
using ::testing::HasSubstr;
using testing::QuantizedMaker;

// Runs a module on the machine, on the reference and on the cpu.
void compare_with_reference(QuantizedMaker& maker) {
  hlo::verify(maker.module);
  std::vector<Tensor> arguments;
  for (int i = 0; i < maker.main.num_parameters(); ++i) {
    const TensorType& type = maker.main.parameter(i).type();
    arguments.push_back(type.dtype == DType::f32
                            ? maker.integers(DType::f32, type.shape, -6000, 6000)
                            : maker.integers(type.dtype, type.shape, -128, 127));
    if (type.dtype != DType::f32) continue;
    for (float& x : arguments.back().data<float>()) x *= 0.001F;
  }
  const std::vector<Tensor> expected = hlo::Evaluator().run(maker.main, arguments);
  StagedRunner runner(maker.module, {}, runtime::client("cpu"), {});
  EXPECT_TRUE(runner.staged().uses_machine());
  const std::vector<Tensor> got = runner.run(arguments);
  const std::vector<Tensor> compiled =
      runtime::run(*runtime::client("cpu").compile(maker.module), arguments);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i].identical(expected[i])) << i << "\n" << hlo::print(maker.module);
    EXPECT_TRUE(compiled[i].identical(expected[i])) << i << ": cpu";
  }
}

void set_real_result(QuantizedMaker& maker, Value x) {
  maker.main.set_results(
      {maker.op(hlo::Opcode::uniform_dequantize, {x}, {DType::f32, x.shape()}), x});
}

TEST(TpuModule, MultilayerPerceptrons) {
  for (const char* rounding : {"tflite", "single"}) {
    QuantizedMaker maker(1, rounding);
    Value x = maker.input({7, 300});
    x = maker.dense(x, 40, maker.tensor_type({7, 40}), true);
    x = maker.dense(x, 270, maker.tensor_type({7, 270}));
    x = maker.op(hlo::Opcode::maximum, {x, maker.zeros(x)}, x.type());
    x = maker.dense(x, 10, maker.tensor_type({7, 10}));
    set_real_result(maker, x);
    compare_with_reference(maker);
  }
}

hlo::ConvolutionAttrs image_convolution(int64_t stride, int64_t pad, int64_t groups = 1) {
  return {.window_strides = Dims{stride, stride},
          .padding = {{pad, pad}, {pad, pad}},
          .lhs_dilation = Dims{1, 1},
          .rhs_dilation = Dims{1, 1},
          .window_reversal = {false, false},
          .input_batch_dimension = 0,
          .input_feature_dimension = 3,
          .input_spatial_dimensions = Dims{1, 2},
          .kernel_input_feature_dimension = 2,
          .kernel_output_feature_dimension = 3,
          .kernel_spatial_dimensions = Dims{0, 1},
          .output_batch_dimension = 0,
          .output_feature_dimension = 3,
          .output_spatial_dimensions = Dims{1, 2},
          .feature_group_count = groups};
}

Value convolve(QuantizedMaker& maker, Value x, int64_t kernel, int64_t filters, int64_t stride,
               int64_t pad, int64_t groups = 1) {
  const Shape& in = x.shape();
  const Shape out({in[0], (in[1] + 2 * pad - kernel) / stride + 1,
                   (in[2] + 2 * pad - kernel) / stride + 1, filters});
  const Value w = maker.weights(Shape({kernel, kernel, in[3] / groups, filters}), 3, groups == 1);
  return maker.requantized(hlo::Opcode::convolution, x, w, out,
                           image_convolution(stride, pad, groups), maker.tensor_type(out));
}

Value max_pool(QuantizedMaker& maker, Value x) {
  const Shape& in = x.shape();
  const TensorType type{x.dtype(), Shape({in[0], in[1] / 2, in[2] / 2, in[3]}), x.type().quantized};
  const TensorType scalar{x.dtype(), Shape({}), x.type().quantized};
  const Value least = maker.constant(scalar, maker.integers(x.dtype(), Shape({}), -128, -128));
  return maker.builder
      .op_with_regions(
          hlo::Opcode::reduce_window, {x, least},
          hlo::WindowAttrs{.window_dimensions = Dims{1, 2, 2, 1},
                           .window_strides = Dims{1, 2, 2, 1},
                           .base_dilations = Dims{1, 1, 1, 1},
                           .window_dilations = Dims{1, 1, 1, 1},
                           .padding = {{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
          [&](hlo::Instruction& window) {
            hlo::Computation& region = window.add_region();
            const Value a = region.add_parameter(scalar);
            const Value b = region.add_parameter(scalar);
            region.set_results(
                {hlo::Builder(region).op(hlo::Opcode::maximum, {a, b}, {}, {scalar})->result()});
          },
          {type})
      ->result();
}

// Convolutions, depthwise ones among them, pooling, a residual addition, concatenation, a flattened
// product.
TEST(TpuModule, ConvolutionalNetworks) {
  for (const char* rounding : {"tflite", "single"}) {
    QuantizedMaker maker(2, rounding);
    Value x = maker.input({3, 12, 12, 3});
    x = convolve(maker, x, 3, 20, 1, 1);
    x = max_pool(maker, x);
    const Value deep = convolve(maker, x, 3, 20, 1, 1, 20);
    Value sum = maker.op(hlo::Opcode::add, {x, deep}, maker.tensor_type(x.shape()));
    const Value other{maker.op(hlo::Opcode::uniform_quantize, {x}, sum.type())};
    sum =
        maker.op(hlo::Opcode::concatenate, {sum, other},
                 {DType::s8, Shape({3, 6, 6, 40}), sum.type().quantized}, hlo::ConcatenateAttrs{3});
    sum = convolve(maker, sum, 2, 24, 2, 0);
    const Shape flat({3, 3 * 3 * 24});
    sum = maker.op(hlo::Opcode::reshape, {sum}, {DType::s8, flat, sum.type().quantized});
    set_real_result(maker, maker.dense(sum, 5, maker.tensor_type({3, 5})));
    compare_with_reference(maker);
  }
}

// A LSTM cell with 16-bit state: the gates are slices of one product of x and h.
TEST(TpuModule, LstmCell) {
  QuantizedMaker maker(3, "tflite");
  const int64_t width = 12;
  const Shape state({5, width});
  const auto fixed = [](const Shape& shape, int bits) {
    return TensorType{DType::s16, shape, per_tensor_type(DType::s16, std::ldexp(1.0, -bits), 0)};
  };
  const TensorType unit = fixed(state, 15);
  const TensorType cell = fixed(state, 12);
  const auto parameter = [&](const TensorType& type) { return maker.main.add_parameter(type); };
  const Value x = parameter(unit);
  const Value h = parameter(unit);
  const Value c = parameter(cell);
  const TensorType joined = fixed(Shape({5, 2 * width}), 15);
  const Value xh = maker.op(hlo::Opcode::concatenate, {x, h}, joined, hlo::ConcatenateAttrs{1});
  const Value all = maker.dense(xh, 4 * width, fixed(Shape({5, 4 * width}), 12));
  std::vector<Value> gates;
  for (int64_t i = 0; i < 4; ++i) {
    const Value slice =
        maker.op(hlo::Opcode::slice, {all}, cell,
                 hlo::SliceAttrs{Dims{0, i * width}, Dims{5, (i + 1) * width}, Dims{1, 1}});
    gates.push_back(maker.op(i == 2 ? hlo::Opcode::tanh : hlo::Opcode::logistic, {slice}, unit));
  }
  const Value kept = maker.op(hlo::Opcode::multiply, {gates[1], c}, cell);
  const Value added = maker.op(hlo::Opcode::multiply, {gates[0], gates[2]}, cell);
  const Value next = maker.op(hlo::Opcode::add, {kept, added}, cell);
  const Value squashed = maker.op(hlo::Opcode::tanh, {next}, unit);
  const Value out = maker.op(hlo::Opcode::multiply, {gates[3], squashed}, unit);
  maker.main.set_results({out, next});
  compare_with_reference(maker);
}

// A GRU cell with 16-bit state: h' = z h + (1 - z) tanh(x W + (r h) U). 1 - z is -1 z + 1.
TEST(TpuModule, GruCell) {
  QuantizedMaker maker(6, "tflite");
  const int64_t width = 10;
  const auto fixed = [](const Shape& shape, int bits) {
    return TensorType{DType::s16, shape, per_tensor_type(DType::s16, std::ldexp(1.0, -bits), 0)};
  };
  const TensorType unit = fixed(Shape({6, width}), 15);
  const TensorType sums = fixed(Shape({6, width}), 12);
  const TensorType joined = fixed(Shape({6, 2 * width}), 15);
  const auto constant = [&](const TensorType& type, int64_t value) {
    return maker.constant(type, maker.integers(type.dtype, type.shape, value, value));
  };
  const auto joins = [&](Value a, Value b) {
    return maker.op(hlo::Opcode::concatenate, {a, b}, joined, hlo::ConcatenateAttrs{1});
  };
  const Value x = maker.main.add_parameter(unit);
  const Value h = maker.main.add_parameter(unit);
  const Value xh = joins(x, h);
  const Value z = maker.op(hlo::Opcode::logistic, {maker.dense(xh, width, sums)}, unit);
  const Value r = maker.op(hlo::Opcode::logistic, {maker.dense(xh, width, sums)}, unit);
  const Value kept = maker.op(hlo::Opcode::multiply, {r, h}, unit);
  const Value next = maker.op(hlo::Opcode::tanh, {maker.dense(joins(x, kept), width, sums)}, unit);
  const Value minus = maker.op(hlo::Opcode::multiply, {z, constant(unit, -32768)}, unit);
  const Value rest =
      maker.op(hlo::Opcode::add, {minus, constant(fixed(unit.shape, 14), 1 << 14)}, unit);
  const Value old = maker.op(hlo::Opcode::multiply, {z, h}, unit);
  const Value fresh = maker.op(hlo::Opcode::multiply, {rest, next}, unit);
  maker.main.set_results({maker.op(hlo::Opcode::add, {old, fresh}, unit)});
  compare_with_reference(maker);
}

// A loop of 4 steps: x of a step is a row of the input.
TEST(TpuModule, LoopsAreUnrolled) {
  QuantizedMaker maker(5, "single");
  const Value x = maker.input({4, 3, 6});
  const TensorType state = maker.tensor_type({3, 6});
  const Value zero = maker.builder.scalar(DType::s32, 0);
  const Value start = maker.constant(state, maker.integers(DType::s8, state.shape, 5, 5));
  hlo::Instruction* loop = maker.builder.op_with_regions(
      hlo::Opcode::while_, {zero, start}, hlo::NoAttrs{}, [&](hlo::Instruction& op) {
        for (int r = 0; r < 2; ++r) {
          hlo::Computation& region = op.add_region();
          const Value step = region.add_parameter({DType::s32, {}});
          const Value h = region.add_parameter(state);
          hlo::Builder in(region);
          if (r == 0) {
            region.set_results(
                {in.compare(step, in.scalar(DType::s32, 4), hlo::ComparisonDirection::lt)});
            continue;
          }
          const Value none = in.scalar(DType::s32, 0);
          const TensorType row{DType::s8, Shape({1, 3, 6}), x.type().quantized};
          const Value at = in.op(hlo::Opcode::dynamic_slice, {x, step, none, none},
                                 hlo::DynamicSliceAttrs{Dims{1, 3, 6}}, {row})
                               ->result();
          const TensorType flat{DType::s8, Shape({3, 6}), x.type().quantized};
          const Value now = in.op(hlo::Opcode::reshape, {at}, hlo::NoAttrs{}, {flat})->result();
          region.set_results(
              {in.add(step, in.scalar(DType::s32, 1)),
               in.op(hlo::Opcode::add, {now, h}, hlo::NoAttrs{}, {state})->result()});
        }
      });
  set_real_result(maker, maker.dense(loop->result(1), 4, maker.tensor_type({3, 4})));
  compare_with_reference(maker);
}

TEST(TpuModule, NamesOpsWithoutInstruction) {
  QuantizedMaker maker(4, "tflite");
  Value x = maker.dense(maker.input({2, 6}), 3, maker.tensor_type({2, 3}));
  maker.builder.set_metadata({.name = "scores/reverse"});
  x = maker.op(hlo::Opcode::reverse, {x}, x.type(), hlo::DimensionsAttrs{Dims{1}});
  maker.builder.set_metadata({});
  set_real_result(maker, x);
  EXPECT_THAT(error_of([&] { stage_module(maker.module, {}); }),
              AllOf(HasSubstr("UNIMPLEMENTED: tpu_v1 has no instruction for 'reverse'"),
                    HasSubstr("node 'scores/reverse'")));
  maker.module.attributes.clear();
  EXPECT_THAT(error_of([&] { stage_module(maker.module, {}); }),
              HasSubstr("module attribute systole.rounding, got none"));
}

}  // namespace
}  // namespace systole::tpu_v1
