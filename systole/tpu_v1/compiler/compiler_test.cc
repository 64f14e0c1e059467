// Compiled networks against plain loops.
#include "systole/tpu_v1/compiler/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "systole/base/testing/error_of.h"
#include "systole/tpu_v1/compiler/buffer_allocator.h"
#include "systole/tpu_v1/compiler/testing/plain_network.h"
#include "systole/tpu_v1/machine/machine.h"

namespace systole::tpu_v1 {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// Builds networks with random weights and factors.
class NetworkMaker {
 public:
  explicit NetworkMaker(uint32_t seed) : random_(seed) {}

  int64_t draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  int array(int64_t height, int64_t width, int64_t channels, Element element = Element::s8) {
    const auto zero = static_cast<int32_t>(element == Element::s16 ? 0 : draw(0, 9));
    network.arrays.push_back({.name = "a" + std::to_string(network.arrays.size()),
                              .height = height,
                              .width = width,
                              .channels = channels,
                              .element = element,
                              .zero_point = zero});
    return static_cast<int>(network.arrays.size()) - 1;
  }
  int input(int64_t height, int64_t width, int64_t channels, Element element = Element::s8) {
    network.inputs.push_back(array(height, width, channels, element));
    return network.inputs.back();
  }
  Factor factor(int least, int most) {
    return {static_cast<int32_t>(draw(1 << 30, INT32_MAX)), static_cast<int8_t>(draw(least, most))};
  }
  // Adds a product whose output size follows from `shape`, padded alike on all sides.
  int product(const std::vector<int>& inputs, ProductLayer shape, int64_t filters,
              Element element = Element::s8) {
    const NetworkArray from = network.arrays[inputs[0]];
    const int64_t reach_y = (shape.kernel_y - 1) * shape.dilation_y + 1;
    const int64_t reach_x = (shape.kernel_x - 1) * shape.dilation_x + 1;
    const int output =
        array((from.height + 2 * shape.pad_top - reach_y) / shape.stride_y + 1,
              (from.width + 2 * shape.pad_left - reach_x) / shape.stride_x + 1, filters, element);
    for (const int in : inputs) {
      const int64_t channels = network.arrays[in].channels;
      shape.inputs.push_back({in, {}});
      for (int64_t i = 0; i < shape.kernel_y * shape.kernel_x * channels * filters; ++i)
        shape.inputs.back().weights.push_back(static_cast<int8_t>(draw(-127, 127)));
    }
    for (int64_t i = 0; i < filters; ++i) {
      shape.bias.push_back(static_cast<int32_t>(draw(-3000, 3000)));
      shape.factors.push_back(element == Element::s16 ? factor(-5, -2) : factor(-10, -7));
    }
    if (element != Element::s16) shape.finish.zero_point = network.arrays.back().zero_point;
    return add(std::move(shape), output);
  }
  int pool(int input, Pooling pooling) {
    const NetworkArray from = network.arrays[input];
    pooling.out_height =
        (from.height + 2 * pooling.pad_top - pooling.window_y) / pooling.stride_y + 1;
    pooling.out_width =
        (from.width + 2 * pooling.pad_left - pooling.window_x) / pooling.stride_x + 1;
    const int output = array(pooling.out_height, pooling.out_width, from.channels, from.element);
    return add(PoolLayer{input, pooling}, output);
  }
  int vector(VectorLayer layer, Element element = Element::s8) {
    const NetworkArray from = network.arrays[layer.a];
    const int output = array(from.height, from.width, from.channels, element);
    layer.finish.zero_point = network.arrays.back().zero_point;
    return add(layer, output);
  }
  int add(std::variant<ProductLayer, PoolLayer, VectorLayer> kind, int output) {
    network.layers.push_back(
        {std::move(kind), output, "layer " + std::to_string(network.layers.size())});
    return output;
  }

  Network network;

 private:
  std::mt19937 random_;
};

MachineConfig small_tpu() {
  return {.array = 8, .accumulators = 64, .buffer_bytes = 16 * 1024, .weight_bytes = 1 << 20};
}

// Runs a network on the machine and by plain loops.
CompileReport check_network_values(NetworkMaker& maker, int64_t batch,
                                   const MachineConfig& config = small_tpu()) {
  const Network& network = maker.network;
  CompileReport report;
  const Program program = compile_network(network, batch, config, &report);
  Machine machine(config);
  testing::PlainValues values(network.arrays.size());
  for (const int input : network.inputs) {
    const NetworkArray& a = network.arrays[input];
    auto& elements = values[input];
    for (int64_t i = 0; i < batch * a.positions() * a.channels; ++i) {
      elements.push_back(static_cast<int32_t>(a.element == Element::s16  ? maker.draw(-32768, 32767)
                                              : a.element == Element::u8 ? maker.draw(0, 255)
                                                                         : maker.draw(-128, 127)));
    }
    machine.write_port(program.port(a.name), testing::port_bytes(a, elements));
  }
  testing::run_plain(network, batch, values);
  const RunReport run = machine.run(program);
  EXPECT_EQ(run.buffer_rows, std::max(report.buffer_rows, run.buffer_rows));
  for (const int output : network.outputs) {
    const NetworkArray& a = network.arrays[output];
    EXPECT_EQ(testing::values_of_port(a, machine.read_port(program.port(a.name))), values[output])
        << a.name;
  }
  return report;
}

TEST(TpuCompiler, FullyConnectedLayers) {
  for (const Rounding rounding : {Rounding::tflite, Rounding::single}) {
    NetworkMaker maker(1);
    maker.network.rounding = rounding;
    int x = maker.input(1, 1, 19);
    ProductLayer relu;
    relu.finish.function = Function::relu;
    x = maker.product({x}, relu, 27);
    x = maker.product({x}, relu, 8, Element::u8);
    x = maker.product({x}, {}, 3);
    maker.network.outputs = {x};
    check_network_values(maker, 5);
  }
}

TEST(TpuCompiler, FullSizedMachine) {
  NetworkMaker maker(2);
  const int x = maker.input(1, 1, 784);
  maker.network.outputs = {maker.product({maker.product({x}, {}, 300)}, {}, 10)};
  check_network_values(maker, 64, {});
}

// Convolution, pooling, flatten and a fully connected layer; several images at a time.
TEST(TpuCompiler, ConvolutionalNetwork) {
  NetworkMaker maker(3);
  int x = maker.input(10, 9, 2);
  x = maker.product({x}, {.kernel_y = 3, .kernel_x = 3, .pad_top = 1, .pad_left = 1}, 6);
  x = maker.product({x}, {.kernel_y = 3, .kernel_x = 2, .dilation_x = 2}, 10);
  x = maker.pool(x, {.window_y = 2, .window_x = 2, .stride_y = 2, .stride_x = 2});
  x = maker.product({x}, {.kernel_y = 4, .kernel_x = 3}, 12);
  maker.network.outputs = {x};
  const CompileReport report = check_network_values(maker, 19);
  EXPECT_GT(report.images_at_a_time, 1);
  EXPECT_LT(report.images_at_a_time, 19);
}

// Inputs of few channels with all kinds of windows: neighbours lie side by side.
TEST(TpuCompiler, ShallowInputs) {
  NetworkMaker maker(4);
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t pad : {-1, 0, 1, 2}) {
      for (const int64_t kernel : {2, 3, 4}) {
        NetworkMaker one(static_cast<uint32_t>(100 * stride + 10 * pad + kernel + 100));
        const int x = one.input(5, maker.draw(6, 9), 2, stride == 2 ? Element::u8 : Element::s8);
        one.network.outputs = {one.product(
            {x},
            {.kernel_y = 2, .kernel_x = kernel, .stride_x = stride, .pad_top = 1, .pad_left = pad},
            5)};
        check_network_values(one, 3);
      }
    }
  }
}

TEST(TpuCompiler, PoolingOfItsOwn) {
  NetworkMaker maker(5);
  const int x = maker.input(7, 6, 11);
  const Pooling window{.max = false,
                       .window_y = 3,
                       .window_x = 3,
                       .stride_y = 2,
                       .stride_x = 1,
                       .pad_top = 1,
                       .pad_left = 1};
  const int average = maker.pool(x, window);
  const int most = maker.pool(average, {.window_y = 2, .window_x = 6});
  maker.network.outputs = {average, most};
  check_network_values(maker, 3);
}

TEST(TpuCompiler, DepthwiseConvolutionSkipsTilesOfZeros) {
  NetworkMaker maker(6);
  const int x = maker.input(4, 4, 24);
  const int y = maker.product({x}, {.kernel_y = 3, .kernel_x = 3}, 24);
  auto& product = std::get<ProductLayer>(maker.network.layers[0].kind);
  for (size_t i = 0; i < product.inputs[0].weights.size(); ++i) {
    if (i / 24 % 24 != i % 24) product.inputs[0].weights[i] = 0;
  }
  maker.network.outputs = {y};
  EXPECT_EQ(check_network_values(maker, 2).weight_tiles, 9 * 3);
}

TEST(TpuCompiler, ElementWiseAndSixteenBits) {
  NetworkMaker maker(7);
  const int x = maker.input(1, 1, 12);
  const int wide = maker.input(1, 1, 12, Element::s16);
  ProductLayer sigmoid;
  sigmoid.finish.function = Function::sigmoid;
  const int gate = maker.product({wide}, sigmoid, 12, Element::s16);
  const int both = maker.product({x, wide}, {}, 12, Element::s16);
  const int scaled = maker.vector({.kind = VectorLayer::Kind::multiply,
                                   .a = gate,
                                   .b = both,
                                   .out_factor = maker.factor(-15, -14)},
                                  Element::s16);
  VectorLayer tanh{.a = scaled, .out_factor = maker.factor(-2, 0)};
  tanh.finish.function = Function::tanh;
  const int squashed = maker.vector(tanh, Element::s8);
  const int sum = maker.vector({.kind = VectorLayer::Kind::add,
                                .a = squashed,
                                .b = x,
                                .a_zero = 3,
                                .b_zero = -4,
                                .a_factor = maker.factor(-1, 0),
                                .b_factor = maker.factor(-2, 0),
                                .left_shift = 20,
                                .out_factor = maker.factor(-20, -19)});
  maker.network.outputs = {gate, both, scaled, squashed, sum};
  check_network_values(maker, 9);
}

TEST(TpuCompiler, NamesTheLayerThatDoesNotFit) {
  NetworkMaker maker(8);
  const int x = maker.input(40, 40, 3);
  maker.network.outputs = {maker.product({x}, {}, 20)};
  EXPECT_THAT(error_of([&] { compile_network(maker.network, 1, small_tpu()); }),
              HasSubstr("RESOURCE_EXHAUSTED: layer 0: one image does not fit the Unified Buffer"));
  MachineConfig little_memory = small_tpu();
  little_memory.buffer_bytes = 1 << 20;
  little_memory.weight_bytes = 64;  // one tile
  EXPECT_THAT(error_of([&] { compile_network(maker.network, 1, little_memory); }),
              HasSubstr("RESOURCE_EXHAUSTED: layer 0: weight memory: tiles, got 2, expected at "
                        "most 1"));
  std::get<ProductLayer>(maker.network.layers[0].kind).bias.pop_back();
  EXPECT_THAT(error_of([&] { compile_network(maker.network, 1, {}); }),
              HasSubstr("layer 0: biases or factors of another number than the filters"));
  maker.network.layers.clear();
  maker.network.outputs = {x};
  EXPECT_THAT(error_of([&] { compile_network(maker.network, 1, {}); }),
              HasSubstr("output: array 0 (a0), also an input or another output"));
}

TEST(BufferAllocator, JoinsGaps) {
  BufferAllocator rows(10);
  EXPECT_EQ(rows.allocate(3), 0);
  EXPECT_EQ(rows.allocate(4), 3);
  EXPECT_EQ(rows.allocate(4), std::nullopt);
  EXPECT_EQ(rows.allocate(3), 7);
  rows.free(0);
  rows.free(7);
  rows.free(3);
  EXPECT_EQ(rows.allocate(10), 0);
}

}  // namespace
}  // namespace systole::tpu_v1
