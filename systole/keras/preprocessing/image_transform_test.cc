#include "systole/keras/preprocessing/image_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/keras/preprocessing/image_file.h"

namespace systole::keras::preprocessing::image {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Tensor& twelve() {
  static const Tensor image = Tensor::of<float>({3, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return image;
}

void expect_near(const Tensor& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.num_elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got.as_double(static_cast<int64_t>(i)), expected[i], 6e-5) << i << " of " << got;
  }
}

// scipy.ndimage.affine_transform (1.10) with order=1, cval=0.5 and the modes nearest,
// grid-constant, reflect, grid-wrap.
TEST(ImageTransformTest, AffineAsScipy) {
  const AffineOptions turn{
      .theta = 30, .tx = 0.5, .ty = -0.25, .shear = 10, .zx = 1.2, .zy = 0.8, .cval = 0.5};
  const auto turned = [&](FillMode mode) {
    AffineOptions options = turn;
    options.fill_mode = mode;
    return apply_affine_transform(twelve(), options);
  };
  expect_near(turned(FillMode::nearest), {6.1747, 4.7307, 3.2866, 2.8527, 9.6142, 9.4876, 8.0435,
                                          6.5994, 10.2142, 10.8271, 11.4399, 11.3036});
  expect_near(turned(FillMode::constant), {6.1747, 4.7307, 3.2866, 2.2585, 6.6124, 9.4876, 8.0435,
                                           6.5994, 0.5, 2.0041, 7.7189, 10.7337});
  expect_near(turned(FillMode::reflect), {6.1747, 4.7307, 3.2866, 2.8527, 9.6142, 9.4876, 8.0435,
                                          6.5994, 8.7399, 10.8271, 11.4399, 11.3036});
  expect_near(turned(FillMode::wrap), {6.1747, 4.7307, 3.2866, 4.8733, 6.9794, 9.4876, 8.0435,
                                       6.5994, 3.6886, 3.9922, 8.7189, 11.1454});
}

TEST(ImageTransformTest, WholeTurnsAndShifts) {
  const Tensor half = apply_affine_transform(twelve(), {.theta = 180});
  expect_near(half, {12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  expect_near(apply_affine_transform(twelve(), {.tx = 1}),
              {5, 6, 7, 8, 9, 10, 11, 12, 9, 10, 11, 12});
  expect_near(apply_affine_transform(twelve(), {.ty = -1, .fill_mode = FillMode::constant}),
              {0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11});
  expect_near(apply_affine_transform(twelve(), {.ty = 0.6, .order = 0}),
              {2, 3, 4, 4, 6, 7, 8, 8, 10, 11, 12, 12});
  expect_near(apply_affine_transform(twelve(), {.tx = 3, .fill_mode = FillMode::reflect}),
              {9, 10, 11, 12, 5, 6, 7, 8, 1, 2, 3, 4});
  expect_near(apply_affine_transform(twelve(), {.tx = -2, .fill_mode = FillMode::wrap}),
              {5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4});
  EXPECT_TRUE(apply_affine_transform(twelve(), {}).identical(twelve()));
  (void)apply_affine_transform(twelve(), {.zx = 1e300, .zy = 1e300});
}

TEST(ImageTransformTest, ColoursAndFlips) {
  const Tensor two = Tensor::of<float>({1, 2, 2}, {10, 20, 100, 240});
  expect_near(apply_channel_shift(two, 15), {25, 35, 115, 240});
  expect_near(apply_channel_shift(two, -15), {10, 10, 85, 225});
  expect_near(apply_brightness_shift(two, 1.5), {15, 30, 150, 255});
  expect_near(apply_brightness_shift(Tensor::of<float>({1, 1, 2}, {0.25, 0.9}), 2), {0.5, 1});
  expect_near(flip_axis(two, 1), {100, 240, 10, 20});
  expect_near(flip_axis(Tensor::of<float>({2, 1, 1}, {1, 2}), 0), {2, 1});
}

TEST(ImageTransformTest, WrongArguments) {
  EXPECT_THAT(error_of([] { fill_mode_from_name("mirror"); }), HasSubstr("got 'mirror'"));
  EXPECT_THAT(error_of([] { apply_affine_transform(twelve(), {.tx = 1, .order = 3}); }),
              HasSubstr("UNIMPLEMENTED: apply_affine_transform: interpolation order, got 3"));
  EXPECT_THAT(error_of([] { flip_axis(twelve(), 2); }), HasSubstr("axis, got 2"));
  EXPECT_THAT(error_of([] { apply_channel_shift(Tensor(1.0F), 1); }),
              HasSubstr("got f32[], expected f32[height,width,channels]"));
}

Tensor pattern() {
  std::vector<uint8_t> pixels;
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 5; ++c) {
      pixels.push_back(static_cast<uint8_t>((r * 37 + c * 11 + (r * c) % 7 * 20) % 256));
    }
  }
  return Tensor::of<uint8_t>({4, 5, 1}, pixels);
}

// PIL.Image.resize of Pillow 9.4. Its weights have 22 bits: results may differ by 1.
TEST(ResizeImageTest, AsPillow) {
  const std::vector<std::pair<std::string, std::vector<int>>> smaller = {
      {"nearest", {37, 99, 161, 111, 253, 255}},  {"box", {30, 61, 93, 124, 215, 202}},
      {"bilinear", {37, 77, 105, 109, 185, 193}}, {"hamming", {29, 65, 98, 113, 200, 198}},
      {"bicubic", {30, 69, 100, 112, 197, 202}},  {"lanczos", {26, 67, 98, 113, 203, 206}}};
  for (const auto& [name, expected] : smaller) {
    const Tensor got = resize_img(pattern(), 2, 3, name);
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got.data<uint8_t>()[i], expected[i], 1) << name;
  }
  const std::vector<int> larger = {0,   2,   10,  17,  24,  32,  37,  14,  24,  40,  54,
                                   67,  87,  102, 41,  60,  87,  112, 139, 157, 165, 65,
                                   91,  129, 163, 213, 186, 131, 92,  127, 179, 221, 216,
                                   204, 196, 109, 149, 210, 255, 196, 212, 255};
  const Tensor got = resize_img(pattern(), 6, 7, "bicubic");
  for (size_t i = 0; i < larger.size(); ++i) EXPECT_NEAR(got.data<uint8_t>()[i], larger[i], 1);
  EXPECT_TRUE(resize_img(pattern(), 4, 5, "lanczos").identical(pattern()));
  EXPECT_THAT(error_of([] { resize_img(pattern(), 0, 3); }), HasSubstr("size, got 0 x 3"));
  EXPECT_THAT(error_of([] { resize_img(pattern(), 2, 3, "cubic"); }),
              HasSubstr("Invalid interpolation method 'cubic'"));
}

}  // namespace
}  // namespace systole::keras::preprocessing::image
