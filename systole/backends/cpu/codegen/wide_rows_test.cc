#include "systole/backends/cpu/codegen/wide_rows.h"

#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

// Sums over 4096 rows of `channels` elements: of x[row, channel] and scale[channel].
struct ChannelSums {
  explicit ChannelSums(int64_t channels)
      : row{{1}, channels}, rows{{0}, 4096}, x(Affine::variable(0, channels)) {
    x += Affine::variable(1);
  }
  std::optional<WideRows> plan(std::vector<Affine> forms = {}) const {
    const std::vector<ElementAccess::Read> reads = {{{nullptr, 0}, x}, {{nullptr, 1}, scale}};
    for (const ElementAccess::Read& read : reads) forms.push_back(read.offset);
    return plan_wide_rows(row, rows, forms, reads, 2);
  }

  Loop row;
  Loop rows;
  Affine x;
  Affine scale = Affine::variable(1);
};

TEST(WideRows, FillVectorsWithAnyNumberOfChannels) {
  for (int64_t channels = 2; channels < 64; ++channels) {
    const auto wide = ChannelSums(channels).plan();
    ASSERT_TRUE(wide) << channels;
    const int64_t lanes = wide->rows * channels;
    EXPECT_EQ(lanes % 8, 0) << channels;
    EXPECT_GE(lanes, 64) << channels;
    EXPECT_LE(lanes, 512) << channels;
    ASSERT_EQ(wide->repeated.size(), 1) << channels;
    EXPECT_EQ(wide->repeated[0].leaf.index, 1) << channels;
  }
  EXPECT_FALSE(ChannelSums(64).plan());
  EXPECT_FALSE(ChannelSums(500).plan());
}

TEST(WideRows, NeedRowsSideBySide) {
  ChannelSums strided(8);
  strided.x = Affine::variable(0, 9) + Affine::variable(1);
  EXPECT_FALSE(strided.plan());
  ChannelSums few(8);
  few.rows.size = 16;
  EXPECT_FALSE(few.plan());
}

// The channel as a number would be that of another row in most lanes.
TEST(WideRows, CannotRepeatNumbers) {
  EXPECT_FALSE(ChannelSums(8).plan({Affine::variable(1)}));
  EXPECT_TRUE(ChannelSums(8).plan({Affine::variable(0, 8) + Affine::variable(1)}));
}

// Two sums of one step, one of them of differences from a mean of each channel, which is itself the
// sum of two arrays; the last rows fill no wide row.
TEST(WideRows, AgreeWithTheReference) {
  RandomStream random(47);
  for (const int64_t channels : {1, 2, 3, 4, 8, 12, 31, 48}) {
    for (const char* dtype : {"f32", "bf16", "f64"}) {
      const auto module = hlo::parse(fmt::format(
          R"(func.func @main(%x: tensor<5x1003x{0}x{1}>, %m: tensor<{0}x{1}>, %n: tensor<{0}x{1}>)
    -> (tensor<{0}x{1}>, tensor<{0}x{1}>, tensor<5x1003x{0}x{1}>) {{
  %z = stablehlo.constant dense<2.0> : tensor<{1}>
  %mean = stablehlo.add %m, %n : tensor<{0}x{1}>
  %b = stablehlo.broadcast_in_dim %mean, dims = [2] : (tensor<{0}x{1}>) -> tensor<5x1003x{0}x{1}>
  %d = stablehlo.subtract %x, %b : tensor<5x1003x{0}x{1}>
  %q = stablehlo.multiply %d, %x : tensor<5x1003x{0}x{1}>
  %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x1003x{0}x{1}>, tensor<{1}>) -> tensor<{0}x{1}>
  %t = stablehlo.reduce(%d init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<5x1003x{0}x{1}>, tensor<{1}>) -> tensor<{0}x{1}>
  return %s, %t, %d : tensor<{0}x{1}>, tensor<{0}x{1}>, tensor<5x1003x{0}x{1}>
}}
)",
          channels, dtype));
      std::vector<Tensor> arguments;
      for (int i = 0; i < 3; ++i)
        arguments.push_back(
            testing::random_tensor(random, module->entry().parameter(i).type(), -2, 2));
      const double tolerance = arguments[0].dtype() == DType::f64 ? 1e-13 : 1e-5;
      EXPECT_EQ(testing::check(*module, arguments, {.ulps = 1, .of_largest = tolerance}), "")
          << testing::words(channels, dtype);
    }
  }
}

}  // namespace
}  // namespace systole::cpu
