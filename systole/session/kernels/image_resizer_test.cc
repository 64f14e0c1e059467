// Images whose size is not known when a function is traced are resized as those of known size are.
#include "systole/session/kernels/image_resizer.h"

#include <gtest/gtest.h>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/image_ops.h"
#include "systole/session/host/host_function.h"
#include "systole/session/kernels/bilinear_pairs.h"

namespace systole {
namespace {

using Resize = Output (*)(const Input&, image::Size, const image::ResizeOptions&);

struct Case {
  DType dtype;
  Dims image;  // with or without a batch
  image::Size size;
  image::ResizeOptions options = {};
};

Tensor noise(DType dtype, const Dims& dims) {
  Tensor image(DType::f32, Shape(dims));
  RandomStream random(3);
  for (float& x : image.data<float>()) x = static_cast<float>(random.next_below(256));
  return image.cast(dtype);
}

// Traced for an image of this shape, or one whose height and width only the call tells.
Tensor resized(Resize resize, const Case& c, bool known) {
  Shape shape(c.image);
  if (!known) {
    shape.set_dim(shape.rank() - 3, kUnknown);
    shape.set_dim(shape.rank() - 2, kUnknown);
  }
  const auto function = HostFunction::trace(
      TensorType{c.dtype, shape},
      [&](const Nest<Output>& x) -> Nest<Output> { return resize(x.leaf(), c.size, c.options); });
  const std::vector<Tensor> image{noise(c.dtype, c.image)};
  return function(image)[0];
}

TEST(ImageResizer, GivesWhatCompiledProgramsGive) {
  const std::vector<Case> cases = {
      {DType::u8, {9, 7, 3}, {4, 5}},
      {DType::u8, {5, 6, 1}, {11, 13}},
      {DType::u8, {2, 8, 8, 4}, {3, 3}},
      {DType::f32, {7, 40, 5}, {3, 11}},
      {DType::f32, {1, 1, 3}, {2, 2}},
      {DType::s32, {6, 5, 2}, {6, 5}},
      {DType::u8, {9, 7, 3}, {4, 5}, {.align_corners = true}},
      {DType::u8, {9, 7, 3}, {20, 5}, {.half_pixel_centers = true}},
      {DType::u8, {9, 7, 3}, {4, 5}, {.half_pixel_centers = true}},
      {DType::u8, {12, 10, 1}, {5, 10}},
      {DType::u8, {3, 9, 2}, {3, 1}},
      {DType::u8, {8, 9, 2}, {5, 7}},
      {DType::u8, {4, 4, 1}, {4, 4}},
      {DType::u8, {2, 20, 31, 3}, {9, 14}},
      {DType::u8, {20, 31, 3}, {9, 13}, {.half_pixel_centers = true}},
      {DType::u8, {20, 31, 3}, {9, 40}, {.half_pixel_centers = true}},
      {DType::u8, {20, 31, 4}, {20, 5}, {.align_corners = true}},
      {DType::u8, {5, 16, 1}, {4, 15}},
      {DType::u8, {5, 1, 1}, {3, 1}},
      {DType::u8, {4, 1, 3}, {3, 2}},
  };
  for (const Resize resize :
       {Resize(image::resize_bilinear), Resize(image::resize_nearest_neighbor),
        Resize(image::resize_bicubic)}) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const Tensor got = resized(resize, cases[i], false);
      const Tensor expected = resized(resize, cases[i], true);
      ASSERT_EQ(got.type(), expected.type()) << i;
      for (int64_t e = 0; e < got.num_elements(); ++e) {
        ASSERT_NEAR(got.as_double(e), expected.as_double(e), 1e-4) << "case " << i << " at " << e;
      }
    }
  }
}

// Pixel by pixel, along the width first.
std::vector<float> plainly(const Tensor& image, const ResizeAxes& axes) {
  const int64_t channels = image.dim(2);
  const auto pixels = image.data<uint8_t>();
  std::vector<float> result;
  for (size_t y = 0; y < axes.rows.low.size(); ++y) {
    for (size_t x = 0; x < axes.columns.low.size(); ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto along = [&](int64_t row) {
          const auto at = [&](int64_t column) {
            return static_cast<float>(
                pixels[static_cast<size_t>((row * image.dim(1) + column) * channels + c)]);
          };
          const float left = at(axes.columns.low[x]);
          const float difference = at(axes.columns.high[x]) - left;
          return left + difference * axes.columns.fraction[x];
        };
        const float low = along(axes.rows.low[y]);
        const float difference = along(axes.rows.high[y]) - low;
        result.push_back(low + difference * axes.rows.fraction[y]);
      }
    }
  }
  return result;
}

// Compares to the last bit; returns how often vectors were taken at all.
int compare_with_plain(const Tensor& image, image::Size size, bool align, bool half) {
  const ResizeAxes axes{.rows = bilinear_axis(image.dim(0), size.height, align, half),
                        .columns = bilinear_axis(image.dim(1), size.width, align, half)};
  if (!BilinearPairs::takes(axes, image.dim(0), image.dim(1), image.dim(2))) return 0;
  const std::vector<float> expected = plainly(image, axes);
  for (const bool wide : {true, false}) {
    std::vector<float> got(expected.size());
    BilinearPairs(axes, image.dim(1), image.dim(2), wide)
        .run(image.data<uint8_t>().data(), got.data());
    EXPECT_EQ(got, expected) << image.dim(1) << " x " << image.dim(2) << " to " << size.height
                             << " x " << size.width << (align ? " aligned" : "")
                             << (half ? " half" : "") << (wide ? " wide" : "");
  }
  return 1;
}

TEST(ImageResizer, VectorsRoundAsPlainLoops) {
  constexpr std::pair<bool, bool> kCoordinates[] = {{false, false}, {true, false}, {false, true}};
  int taken = 0;
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (const int64_t width : {1, 4, 5, 6, 15, 16, 17, 21, 22, 31, 64, 65, 100, 333}) {
      const Tensor image = noise(DType::u8, {7, width, channels});
      for (const int64_t columns : {1, 2, 3, 7, 16, 20, 33, 64, 101}) {
        for (const auto& [align, half] : kCoordinates) {
          taken += compare_with_plain(image, {5, columns}, align, half);
        }
      }
    }
  }
  const Tensor photograph = noise(DType::u8, {375, 500, 3});
  for (const auto& [align, half] : kCoordinates) {
    taken += compare_with_plain(photograph, {224, 224}, align, half);
  }
#if defined(__x86_64__)
  EXPECT_GT(taken, __builtin_cpu_supports("avx2") != 0 ? 1000 : -1);
#endif
}

TEST(ImageResizer, NoPixels) {
  const Case empty{DType::u8, {0, 4, 3}, {2, 2}};
  EXPECT_NE(systole::testing::error_of([&] {
              resized(image::resize_bilinear, empty, false);
            }).find("u8[1,0,4,3], expected height and width above 0"),
            std::string::npos);
}

// Graphs that were read may compute any size.
TEST(ImageResizer, SizesThatCannotBe) {
  const auto function = HostFunction::trace(
      Nest<TensorType>::tuple(
          {TensorType{DType::u8, {1, kUnknown, kUnknown, 3}}, TensorType{DType::s32, {2}}}),
      [](const Nest<Output>& x) -> Nest<Output> {
        return Graph::current()
            .add_node("ResizeBilinear", {x[0].leaf(), x[1].leaf()},
                      {{"align_corners", false}, {"half_pixel_centers", false}})
            ->output();
      });
  for (const int32_t height : {-5, -1, 0}) {
    const std::vector<Tensor> arguments{noise(DType::u8, {1, 2, 2, 3}),
                                        Tensor::of<int32_t>({2}, {height, 3})};
    EXPECT_NE(systole::testing::error_of([&] {
                function(arguments);
              }).find(fmt::format("size, got [{},3], expected sizes above 0", height)),
              std::string::npos);
  }
}

// A float does not tell such positions apart.
TEST(ImageResizer, PositionsAreInVeryLongImages) {
  constexpr int64_t kLong = (int64_t{1} << 24) + 4;
  for (const auto axis : {bilinear_axis, nearest_axis}) {
    const ResizeAxis found = axis(kLong, 2, true, false);
    EXPECT_EQ(found.low.back(), kLong - 1);
    EXPECT_EQ(found.high.back(), kLong - 1);
  }
}

}  // namespace
}  // namespace systole
