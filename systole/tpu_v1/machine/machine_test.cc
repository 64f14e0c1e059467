#include "systole/tpu_v1/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "systole/base/testing/error_of.h"
#include "systole/tpu_v1/assembler/assembler.h"
#include "systole/tpu_v1/builder/layers.h"
#include "systole/tpu_v1/machine/rounding.h"

namespace systole::tpu_v1 {
namespace {

using ::systole::testing::error_of;
using ::testing::HasSubstr;

MachineConfig small_machine() {
  return {.array = 8, .accumulators = 64, .buffer_bytes = 8 * 1024, .weight_bytes = 1 << 20};
}

std::vector<int8_t> random_bytes(size_t count, std::mt19937& random) {
  std::vector<int8_t> bytes(count);
  for (int8_t& byte : bytes) byte = static_cast<int8_t>(random());
  return bytes;
}

// Loads one channel table for each block of outputs; all columns have the factor 2^-shift.
int64_t load_tables(ProgramBuilder& builder, int64_t row, int64_t outputs, int shift) {
  const int array = builder.config().array;
  const std::vector<int32_t> bias(static_cast<size_t>(array), 5);
  const std::vector<int32_t> multipliers(static_cast<size_t>(array), 1 << 30);
  const std::vector<int8_t> shifts(static_cast<size_t>(array), static_cast<int8_t>(1 - shift));
  const int64_t host = builder.add_constant(channel_table_bytes(array, bias, multipliers, shifts));
  const int64_t blocks = rows_of_array(builder.config(), outputs, 1);
  for (int64_t b = 0; b < blocks; ++b) {
    builder.read_host({.ub = row + b * kChannelTableRows, .rows = kChannelTableRows, .host = host});
  }
  return row;
}

int32_t expected_result(int64_t sum, int shift, bool relu) {
  int32_t value = requantize(static_cast<int32_t>(sum + 5), 1 << 30, 1 - shift, Rounding::tflite);
  if (relu) value = std::max(value, 0);
  return std::clamp(value, -128, 127);
}

// Element (r, c) of an array in blocks of columns.
int8_t block_element(const std::vector<uint8_t>& bytes, int64_t array, int64_t rows, int64_t r,
                     int64_t c) {
  return static_cast<int8_t>(bytes[(c / array * rows + r) * array + c % array]);
}

struct DenseShape {
  int64_t batch, inputs, outputs;
};

void check_dense(const DenseShape& shape, std::mt19937& random) {
  const MachineConfig config = small_machine();
  const int64_t array = config.array;
  ProgramBuilder builder(config);
  const auto weights = random_bytes(static_cast<size_t>(shape.inputs * shape.outputs), random);
  const int64_t in_rows = rows_of_array(config, shape.inputs, shape.batch);
  const int64_t out_rows = rows_of_array(config, shape.outputs, shape.batch);
  std::vector<uint8_t> input(static_cast<size_t>(in_rows * array));
  for (uint8_t& x : input) x = static_cast<uint8_t>(random());
  const int64_t host_in = builder.allocate_host(in_rows * array);
  const int64_t host_out = builder.allocate_host(out_rows * array);
  builder.read_host({.ub = 0, .rows = in_rows, .host = host_in});
  const int64_t table = load_tables(builder, in_rows + out_rows, shape.outputs, 8);
  emit_dense(builder, {.inputs = {{0, shape.inputs, weights}},
                       .output = in_rows,
                       .outputs = shape.outputs,
                       .batch = shape.batch,
                       .table = table,
                       .activation_flags = kRelu});
  builder.write_host({.ub = in_rows, .rows = out_rows, .host = host_out});
  Machine machine(config);
  machine.write_host(static_cast<uint64_t>(host_in), input);
  const RunReport report = machine.run(std::move(builder).finish());
  EXPECT_EQ(report.multiply_adds, shape.batch * shape.inputs * shape.outputs);
  const auto output =
      machine.read_host(static_cast<uint64_t>(host_out), static_cast<uint64_t>(out_rows * array));
  for (int64_t r = 0; r < shape.batch; ++r) {
    for (int64_t c = 0; c < shape.outputs; ++c) {
      int64_t sum = 0;
      for (int64_t k = 0; k < shape.inputs; ++k) {
        sum += block_element(input, array, shape.batch, r, k) * weights[k * shape.outputs + c];
      }
      ASSERT_EQ(block_element(output, array, shape.batch, r, c), expected_result(sum, 8, true))
          << r << " " << c;
    }
  }
}

TEST(Machine, FullyConnectedLayersOfRaggedSizes) {
  std::mt19937 random(11);
  for (const DenseShape& shape :
       {DenseShape{1, 1, 1}, {5, 8, 8}, {32, 16, 8}, {7, 13, 27}, {20, 40, 9}, {3, 64, 64}}) {
    check_dense(shape, random);
  }
}

int64_t padded_input(const std::vector<uint8_t>& input, const ConvolutionLayer& l, int64_t array,
                     int64_t image, int64_t y, int64_t x, int64_t channel) {
  if (y < 0 || y >= l.height || x < 0 || x >= l.width) return -7;  // the fill register
  return block_element(input, array, l.images * l.height * l.width,
                       (image * l.height + y) * l.width + x, channel);
}

void check_convolution(ConvolutionLayer layer, int64_t channels, std::mt19937& random) {
  const MachineConfig config = small_machine();
  const int64_t array = config.array;
  ProgramBuilder builder(config);
  const auto weights = random_bytes(
      static_cast<size_t>(layer.kernel_y * layer.kernel_x * channels * layer.filters), random);
  layer.inputs = {{.channels = channels, .weights = weights, .fill = -7}};
  const int64_t out_vectors = layer.images * layer.out_height * layer.out_width;
  const int64_t in_rows =
      rows_of_array(config, channels, layer.images * layer.height * layer.width);
  const int64_t out_rows = rows_of_array(config, layer.filters, out_vectors);
  std::vector<uint8_t> input(static_cast<size_t>(in_rows * array));
  for (uint8_t& x : input) x = static_cast<uint8_t>(random());
  const int64_t host_in = builder.allocate_host(in_rows * array);
  const int64_t host_out = builder.allocate_host(out_rows * array);
  builder.read_host({.ub = 0, .rows = in_rows, .host = host_in});
  layer.output = in_rows;
  layer.table = load_tables(builder, in_rows + out_rows, layer.filters, 7);
  emit_convolution(builder, layer);
  builder.write_host({.ub = in_rows, .rows = out_rows, .host = host_out});
  Machine machine(config);
  machine.write_host(static_cast<uint64_t>(host_in), input);
  machine.run(std::move(builder).finish());
  const auto output =
      machine.read_host(static_cast<uint64_t>(host_out), static_cast<uint64_t>(out_rows * array));
  for (int64_t v = 0; v < out_vectors; ++v) {
    const int64_t image = v / (layer.out_height * layer.out_width);
    const int64_t y = v / layer.out_width % layer.out_height * layer.stride_y - layer.pad_top;
    const int64_t x = v % layer.out_width * layer.stride_x - layer.pad_left;
    for (int64_t f = 0; f < layer.filters; ++f) {
      int64_t sum = 0;
      for (int64_t k = 0; k < layer.kernel_y * layer.kernel_x; ++k) {
        for (int64_t c = 0; c < channels; ++c) {
          sum += padded_input(input, layer, array, image, y + k / layer.kernel_x,
                              x + k % layer.kernel_x, c) *
                 weights[(k * channels + c) * layer.filters + f];
        }
      }
      ASSERT_EQ(block_element(output, array, out_vectors, v, f), expected_result(sum, 7, false))
          << v << " " << f;
    }
  }
}

TEST(Machine, ConvolutionsByShiftedPasses) {
  std::mt19937 random(12);
  // One part; whole images in parts; lines of an image in parts; strides and padding.
  check_convolution({.images = 1,
                     .height = 5,
                     .width = 4,
                     .out_height = 5,
                     .out_width = 4,
                     .filters = 10,
                     .kernel_y = 3,
                     .kernel_x = 3,
                     .pad_top = 1,
                     .pad_left = 1},
                    3, random);
  check_convolution({.images = 7,
                     .height = 4,
                     .width = 4,
                     .out_height = 4,
                     .out_width = 4,
                     .filters = 8,
                     .kernel_y = 3,
                     .kernel_x = 1,
                     .pad_top = 1},
                    11, random);
  check_convolution({.images = 2,
                     .height = 12,
                     .width = 9,
                     .out_height = 12,
                     .out_width = 9,
                     .filters = 3,
                     .kernel_y = 1,
                     .kernel_x = 1},
                    2, random);
  check_convolution({.images = 3,
                     .height = 9,
                     .width = 8,
                     .out_height = 4,
                     .out_width = 4,
                     .filters = 17,
                     .kernel_y = 3,
                     .kernel_x = 2,
                     .stride_y = 2,
                     .stride_x = 2},
                    9, random);
}

// Runs a product of one 8x8 tile with a chosen precision and returns the 32-bit sums as the low
// bytes of raw results do not show them: the sums go through activate with factors that pick each
// byte.
std::vector<int32_t> sums_of_product(int64_t flags, const std::vector<uint8_t>& input,
                                     const std::string& weights, int64_t rows,
                                     RunReport* report = nullptr) {
  const MachineConfig config = small_machine();
  ProgramBuilder builder(config);
  const int64_t planes = (flags & kInput16) != 0 ? 2 : 1;
  const auto host_in = static_cast<uint64_t>(builder.allocate_host(rows * planes * 8));
  const uint32_t tile = builder.add_tile(weights);
  builder.read_host({.ub = 0, .rows = rows * planes, .host = static_cast<int64_t>(host_in)});
  builder.read_weights(tile, 8, 8);
  builder.matmul(flags | kNext | kOverwrite, {.ub = 0, .acc = 0, .rows = rows});
  // 16 bits of the sum at a time: single rounding by 2^-16 of (sum - 2^15) floors.
  Program program;
  std::vector<int32_t> sums(static_cast<size_t>(rows * 8));
  const std::vector<int32_t> bias(8, -(1 << 15));
  const std::vector<int32_t> multipliers(8, 1 << 30);
  const std::vector<int8_t> shifts(8, -15);
  const int64_t table = builder.add_constant(channel_table_bytes(8, bias, multipliers, shifts));
  builder.read_host({.ub = 500, .rows = 9, .host = table});
  builder.set(Register::channel_table, 500);
  builder.set(Register::output_min, INT16_MIN);
  builder.set(Register::output_max, INT16_MAX);
  const auto host_out = static_cast<uint64_t>(builder.allocate_host(rows * 4 * 8));
  builder.activate(kOutput16, {.ub = 100, .acc = 0, .rows = rows});
  builder.activate(kRaw | kOutput16, {.ub = 300, .acc = 0, .rows = rows});
  builder.write_host({.ub = 100, .rows = 2 * rows, .host = static_cast<int64_t>(host_out)});
  builder.write_host(
      {.ub = 300, .rows = 2 * rows, .host = static_cast<int64_t>(host_out) + rows * 16});
  program = std::move(builder).finish();
  program.rounding = Rounding::single;
  Machine machine(config);
  machine.write_host(host_in, input);
  const RunReport done = machine.run(program);
  if (report != nullptr) *report = done;
  const auto bytes = machine.read_host(host_out, static_cast<uint64_t>(rows * 32));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < 8; ++c) {
      const auto at = [&](int64_t part, int64_t plane) {
        return uint32_t{bytes[part * rows * 16 + (2 * r + plane) * 8 + c]};
      };
      sums[r * 8 + c] =
          static_cast<int32_t>(at(1, 0) | at(1, 1) << 8 | at(0, 0) << 16 | at(0, 1) << 24);
    }
  }
  return sums;
}

int64_t wide_value(uint8_t low, uint8_t high, bool is_unsigned) {
  const int value = low | high << 8;
  return is_unsigned ? value : static_cast<int16_t>(value);
}
int64_t narrow_value(uint8_t byte, bool is_unsigned) {
  return is_unsigned ? byte : static_cast<int8_t>(byte);
}

TEST(Machine, EveryPrecisionAndSign) {
  std::mt19937 random(13);
  const int64_t rows = 5;
  for (int bits = 0; bits < 32; ++bits) {
    const bool x16 = (bits & 1) != 0;
    const bool w16 = (bits & 2) != 0;
    const bool ux = (bits & 4) != 0;
    const bool uw = (bits & 8) != 0;
    const bool high = (bits & 16) != 0;  // no effect on 8-bit activations
    const int64_t flags = (high ? kHighBytes : 0) | (x16 ? kInput16 : 0) | (w16 ? kWeights16 : 0) |
                          (ux ? kUnsignedInput : 0) | (uw ? kUnsignedWeights : 0);
    std::vector<uint8_t> input(static_cast<size_t>(rows * 8 * (x16 ? 2 : 1)));
    for (uint8_t& x : input) x = static_cast<uint8_t>(random());
    std::string weights(64, '\0');
    for (char& w : weights) w = static_cast<char>(random());
    const auto sums = sums_of_product(flags, input, weights, rows);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < (w16 ? 4 : 8); ++c) {
        int64_t expected = 0;
        for (int64_t k = 0; k < 8; ++k) {
          const auto x = [&](int64_t plane) {
            return input[static_cast<size_t>((r * (x16 ? 2 : 1) + plane) * 8 + k)];
          };
          const auto w = [&](int64_t column) {
            return static_cast<uint8_t>(weights[k * 8 + column]);
          };
          expected += (x16 ? wide_value(high ? 0 : x(0), x(1), ux) : narrow_value(x(0), ux)) *
                      (w16 ? wide_value(w(2 * c), w(2 * c + 1), uw) : narrow_value(w(c), uw));
        }
        EXPECT_EQ(sums[r * 8 + c], wrap32(expected)) << bits;
      }
    }
  }
}

TEST(Machine, CountsSumsThatWrap) {
  const std::vector<uint8_t> input(16, 0xff);  // 65535
  RunReport report;
  const auto sums = sums_of_product(kInput16 | kWeights16 | kUnsignedInput | kUnsignedWeights,
                                    input, std::string(64, '\xff'), 1, &report);
  EXPECT_EQ(sums[0], wrap32(8 * int64_t{65535} * 65535));
  EXPECT_GE(report.overflows, 4);
  EXPECT_GE(report.first_overflow, 0);
}

TEST(Machine, HardwiredFunctionsAreTheNearestValues) {
  const MachineConfig config = small_machine();
  for (const int64_t function : {int64_t{kSigmoid}, int64_t{kTanh}}) {
    for (const int64_t wide : {int64_t{0}, int64_t{kOutput16}}) {
      ProgramBuilder builder(config);
      const int64_t rows = 16;
      std::vector<uint8_t> input;
      std::vector<int16_t> values;
      for (int64_t i = 0; i < rows * 8; ++i)
        values.push_back(static_cast<int16_t>(-32768 + 517 * i));
      for (int64_t r = 0; r < rows; ++r) {
        for (int plane = 0; plane < 2; ++plane) {
          for (int64_t c = 0; c < 8; ++c) {
            input.push_back(static_cast<uint8_t>(values[r * 8 + c] >> (8 * plane)));
          }
        }
      }
      const int64_t host_in = builder.allocate_host(rows * 16);
      const int64_t host_out = builder.allocate_host(rows * 16);
      builder.read_host({.ub = 0, .rows = 2 * rows, .host = host_in});
      builder.vector(function | wide | kA16, {.ub = 100, .source = 0, .rows = rows});
      builder.write_host({.ub = 100, .rows = wide != 0 ? 2 * rows : rows, .host = host_out});
      Machine machine(config);
      machine.write_host(static_cast<uint64_t>(host_in), input);
      machine.run(std::move(builder).finish());
      const auto out = machine.read_host(static_cast<uint64_t>(host_out),
                                         static_cast<uint64_t>(rows * (wide != 0 ? 16 : 8)));
      for (int64_t i = 0; i < rows * 8; ++i) {
        const double x = values[i] / 4096.0;
        const double y = function == kSigmoid ? 1 / (1 + std::exp(-x)) : std::tanh(x);
        const int64_t r = i / 8;
        const int64_t c = i % 8;
        if (wide != 0) {
          const double got =
              static_cast<double>(wide_value(out[2 * r * 8 + c], out[(2 * r + 1) * 8 + c], false));
          EXPECT_NEAR(got, std::min(y * 32768, 32767.0), 0.501) << x;
        } else {
          const double scale = function == kSigmoid ? 256 : 128;
          const double zero = function == kSigmoid ? -128 : 0;
          EXPECT_NEAR(narrow_value(out[i], false), std::min(y * scale + zero, 127.0), 0.501);
        }
      }
    }
  }
}

TEST(Machine, ElementWiseArithmeticAndPooling) {
  const MachineConfig config = small_machine();
  std::mt19937 random(14);
  const auto a = random_bytes(16 * 8, random);
  const auto b = random_bytes(16 * 8, random);
  ProgramBuilder builder(config);
  const int64_t host = builder.allocate_host(1024);
  builder.read_host({.ub = 0, .rows = 32, .host = host});
  builder.vector(kAdd, {.ub = 40, .source = 0, .rows = 16}, 16);  // factors of 1
  builder.set(Register::out_shift, -6);                           // 2^-7
  builder.vector(kMultiply, {.ub = 60, .source = 0, .rows = 16}, 16);
  builder.set(Register::out_shift, 1);
  const std::pair<Register, int64_t> pooling[] = {
      {Register::pool_height, 4},    {Register::pool_width, 4},      {Register::pool_window_y, 3},
      {Register::pool_window_x, 2},  {Register::pool_stride_y, 2},   {Register::pool_stride_x, 2},
      {Register::pool_offset_y, -1}, {Register::pool_out_height, 2}, {Register::pool_out_width, 2}};
  for (const auto& [reg, value] : pooling) builder.set(reg, value);
  builder.vector(kMaxPool, {.ub = 80, .source = 0, .rows = 16});
  builder.vector(kAveragePool, {.ub = 84, .source = 0, .rows = 16});
  builder.write_host({.ub = 40, .rows = 16, .host = host + 256});
  builder.write_host({.ub = 60, .rows = 16, .host = host + 384});
  builder.write_host({.ub = 80, .rows = 8, .host = host + 512});
  Machine machine(config);
  machine.write_host(0, {reinterpret_cast<const uint8_t*>(a.data()), a.size()});
  machine.write_host(128, {reinterpret_cast<const uint8_t*>(b.data()), b.size()});
  machine.run(std::move(builder).finish());
  const auto out = machine.read_host(0, 576);
  const auto result = [&](size_t at) { return static_cast<int8_t>(out[at]); };
  for (size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(result(256 + i), std::clamp(a[i] + b[i], -128, 127));
    // Halves round up in the high multiplication, then away from zero in the division.
    const int32_t product = a[i] * b[i];
    EXPECT_NEAR(result(384 + i), std::clamp(product / 128.0, -128.0, 127.0), 0.51);
  }
  for (int oy = 0; oy < 2; ++oy) {
    for (int ox = 0; ox < 2; ++ox) {
      for (int c = 0; c < 8; ++c) {
        const auto index = [&](int y, int x, size_t width) {
          return (static_cast<size_t>(y) * width + static_cast<size_t>(x)) * 8 +
                 static_cast<size_t>(c);
        };
        int most = -1000;
        int sum = 0;
        int count = 0;
        for (int y = std::max(2 * oy - 1, 0); y < std::min(2 * oy + 2, 4); ++y) {
          for (int x = 2 * ox; x < 2 * ox + 2; ++x) {
            const int value = int{a[index(y, x, 4)]};
            most = std::max(most, value);
            sum += value;
            ++count;
          }
        }
        const size_t at = index(oy, ox, 2);
        EXPECT_EQ(result(512 + at), most);
        EXPECT_EQ(result(544 + at),
                  static_cast<int>(std::lround(static_cast<double>(sum) / count)));
      }
    }
  }
}

std::string run_error(const std::string& text) {
  return error_of([&] {
    Machine machine(small_machine());
    machine.write_host(0, std::vector<uint8_t>(64));
    machine.run(assemble(".array 8\n.tile 0 01*64\n" + text, "p"));
  });
}

TEST(Machine, NamesWhatIsWrongAndWhere) {
  const std::string load = "read_host ub=0 rows=4 host=0\n";
  const std::string weights = "read_weights rows=8 columns=8 repeat=1 tile=0\n";
  const std::string ready = load + weights + "sync_buffer waiter=matrix on=host_in\n";
  EXPECT_THAT(run_error("nop"), HasSubstr("halt, got none in 1 instructions"));
  EXPECT_THAT(run_error(load + weights + "matmul.next.overwrite rows=4\nhalt"),
              HasSubstr("instruction 2 (matmul): read after write hazard on row 0, touched by "
                        "instruction 0 of unit "
                        "host_in, expected a sync_buffer waiter=matrix on=host_in"));
  EXPECT_THAT(run_error(load + weights +
                        "sync waiter=matrix on=host_in\nmatmul.next.overwrite rows=4\nhalt"),
              HasSubstr("read after write hazard"));
  EXPECT_THAT(
      run_error(ready + "matmul.next.overwrite rows=5\nhalt"),
      HasSubstr(
          "instruction 3 (matmul): read of Unified Buffer row 4, which no instruction wrote"));
  EXPECT_THAT(run_error(ready + "matmul.next rows=4\nhalt"),
              HasSubstr("read of accumulator row 0"));
  EXPECT_THAT(run_error(ready + "matmul.next.overwrite rows=4\nread_host ub=2 rows=1 host=0\nhalt"),
              HasSubstr("write after read hazard on row 2"));
  EXPECT_THAT(run_error(ready + "matmul.next.overwrite rows=4\nactivate.raw ub=9 rows=4\nhalt"),
              HasSubstr("read after write hazard on row 0"));
  EXPECT_THAT(run_error(ready + "matmul.next.overwrite rows=4 acc=61\nhalt"),
              HasSubstr("rows of the accumulators, got 61 to 64, expected 0 to 63"));
  EXPECT_THAT(run_error("read_host ub=1023 rows=2 host=0\nhalt"),
              HasSubstr("rows of the Unified Buffer"));
  EXPECT_THAT(run_error("read_host ub=0 rows=9 host=0\nhalt"),
              HasSubstr("instruction 0 (read_host): host memory"));
  EXPECT_THAT(run_error("read_weights rows=8 columns=8 repeat=5 tile=0\nhalt"),
              HasSubstr("weight FIFO overflow"));
  EXPECT_THAT(run_error(weights + "halt"), HasSubstr("weight FIFO at halt"));
  EXPECT_THAT(
      run_error(load + "sync_buffer waiter=matrix on=host_in\nmatmul.next.overwrite rows=4\nhalt"),
      HasSubstr("weight FIFO underflow"));
  EXPECT_THAT(
      run_error(load + "read_weights rows=8 columns=8 repeat=1 tile=7\n"
                       "sync_buffer waiter=matrix on=host_in\nmatmul.next.overwrite rows=4\nhalt"),
      HasSubstr("read of weight tile 7, which was never written"));
  EXPECT_THAT(run_error("read_weights rows=8 columns=8 repeat=1 tile=99999999\nhalt"),
              HasSubstr("tile, got 99999999"));
  EXPECT_EQ(run_error(ready + "matmul.next.overwrite rows=4\nsync waiter=activation on=matrix\n"
                              "activate.raw ub=9 rows=4\nhalt"),
            "no error");
}

}  // namespace
}  // namespace systole::tpu_v1
