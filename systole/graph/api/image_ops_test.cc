#include "systole/graph/api/image_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/image_op_cases.h"

namespace systole {
namespace {

using graph_testing::check_op;
using graph_testing::error_of;
using graph_testing::evaluate;
using graph_testing::MiniSession;
using graph_testing::OpCase;
using graph_testing::random_tensor;

TEST(ImageOpsTable, All) {
  for (const OpCase& row : graph_testing::image_op_cases()) check_op(row);
}

class ImageOpsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

// Sizes that only the run knows, as those of a decoded image.
TEST_F(ImageOpsTest, SizesMayBeUnknown) {
  const Output x = placeholder(DType::u8, {kUnknown, kUnknown, 3});
  const Output resized = image::resize_bilinear(x, {2, 2});
  const Output fitted = image::resize_with_crop_or_pad(x, 2, 6);
  EXPECT_EQ(resized.type(), (TensorType{DType::f32, {2, 2, 3}}));
  EXPECT_EQ(fitted.type(), (TensorType{DType::u8, {2, 6, 3}}));
  EXPECT_EQ(image::decode_jpeg(constant(Tensor("x")), {.channels = 1}).shape(),
            (Shape{kUnknown, kUnknown, 1}));
  const Tensor value = random_tensor({4, 4, 3}, 0, 255, DType::u8);
  const auto got = evaluate({resized, fitted, image::central_crop(x, 0.5)}, {{x, value}});
  EXPECT_EQ(got[0].data<float>()[3], static_cast<float>(value.data<uint8_t>()[6]));
  EXPECT_EQ(got[1].data<uint8_t>()[3], value.data<uint8_t>()[12]);
  EXPECT_EQ(got[2].shape(), (Shape{2, 2, 3}));
}

// 1 2 3
// 4 5 6
TEST_F(ImageOpsTest, TurnsAndColours) {
  const Output x = constant(Tensor::of<int32_t>({2, 3, 1}, {1, 2, 3, 4, 5, 6}));
  const auto is = [](const Output& y, const Shape& shape, const std::vector<int32_t>& values) {
    const Tensor got = evaluate(y);
    EXPECT_TRUE(got.identical(Tensor::of<int32_t>(shape, values))) << got.to_string();
  };
  is(image::rot90(x), {3, 2, 1}, {3, 6, 2, 5, 1, 4});
  is(image::rot90(x, -1), {3, 2, 1}, {4, 1, 5, 2, 6, 3});
  is(image::rot90(x, 4), {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  is(image::transpose_image(x), {3, 2, 1}, {1, 4, 2, 5, 3, 6});
  is(image::grayscale_to_rgb(image::crop_to_bounding_box(x, 0, 1, 1, 2)), {1, 2, 3},
     {2, 2, 2, 3, 3, 3});
  is(image::resize_images(x, {1, 1}, image::ResizeMethod::nearest_neighbor), {1, 1, 1}, {1});
  EXPECT_EQ(evaluate(image::resize_images(x, {2, 2})).as_double(1), 2.5);
  EXPECT_NE(error_of([&] {
              image::grayscale_to_rgb(image::grayscale_to_rgb(x));
            }).find("grayscale_to_rgb: images, got s32[2,3,3], expected 1 channel"),
            std::string::npos);
}

void expect_near(const Tensor& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.num_elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got.data<float>()[i], expected[i], 1e-5) << "at " << i;
  }
}

// What TensorFlow 1.15 gives.
TEST_F(ImageOpsTest, HueAndSaturation) {
  const Output x = constant(
      Tensor::of<float>({1, 3, 3}, {0.2F, 0.4F, 0.9F, 0.7F, 0.7F, 0.7F, 0.9F, 0.1F, 0.3F}));
  const Output hsv = image::rgb_to_hsv(x);
  const auto got = evaluate({hsv, image::hsv_to_rgb(hsv), image::adjust_hue(x, 0.3),
                             image::adjust_saturation(x, 1.8),
                             image::adjust_hue(image::convert_image_dtype(x, DType::u8), 0)});
  expect_near(got[0], {0.61904764F, 0.7777778F, 0.9F, 0, 0, 0.7F, 0.9583333F, 0.88888884F, 0.9F});
  expect_near(got[1], {0.2F, 0.4F, 0.9F, 0.7F, 0.7F, 0.7F, 0.9F, 0.1F, 0.3F});
  expect_near(got[2], {0.9F, 0.2F, 0.54F, 0.7F, 0.7F, 0.7F, 0.46F, 0.9F, 0.1F});
  expect_near(got[3], {0, 0.25714272F, 0.9F, 0.7F, 0.7F, 0.7F, 0.9F, 0, 0.225F});
  EXPECT_TRUE(
      got[4].identical(Tensor::of<uint8_t>({1, 3, 3}, {51, 102, 229, 178, 178, 178, 229, 25, 76})))
      << got[4].to_string();
  EXPECT_NE(error_of([&] { image::random_hue(x, 0.6); }).find("max_delta, got 0.6"),
            std::string::npos);
  EXPECT_NE(error_of([&] { image::rgb_to_hsv(cast(x, DType::s32)); }).find("3 channels of floats"),
            std::string::npos);
}

TEST_F(ImageOpsTest, ResizesBicubicAsTensorFlow) {
  const Output x = constant(Tensor::of<float>({1, 2, 3, 1}, {0, 10, 20, 30, 50, 40}));
  const auto got = evaluate({image::resize_bicubic(x, {3, 4}),
                             image::resize_bicubic(x, {3, 2}, {.align_corners = true}),
                             image::resize_bicubic(x, {1, 4}, {.half_pixel_centers = true})});
  const auto near = [](const Tensor& values, const std::vector<float>& expected) {
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(values.data<float>()[i], expected[i], 1e-4) << "at " << i;
    }
  };
  near(got[0], {0, 6.6796875F, 15.9375F, 21.054688F, 20.566135F, 33.994087F, 37.146324F, 33.31939F,
                33.333332F, 50.95052F, 50.312504F, 40.93316F});
  near(got[1], {0, 20, 15, 30, 30, 40});
  near(got[2], {14.216418F, 24.40131F, 31.052385F, 30.000002F});
}

TEST_F(ImageOpsTest, BoxesAreDrawn) {
  const Output x = zeros({1, 5, 6, 1});
  const Output box = constant(Tensor::of<float>({1, 1, 4}, {0, 0.2F, 0.6F, 0.9F}));
  const Tensor got = evaluate(image::draw_bounding_boxes(x, box));
  const std::vector<float> expected = {0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1,
                                       1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(got.data<float>()[i], expected[i]) << i;
  EXPECT_NE(error_of([&] { image::draw_bounding_boxes(x, x); }).find("expected f32[batch,n,4]"),
            std::string::npos);
}

// 0 1 2 / 3 4 5 / 6 7 8: a quarter enlarged, and a box that lies half outside.
TEST_F(ImageOpsTest, BoxesAreCutOut) {
  const Output x = reshape(cast(range(18), DType::f32), {2, 3, 3, 1});
  const Output boxes = constant(Tensor::of<float>({2, 4}, {0, 0, 0.5F, 0.5F, 0.5F, 0.5F, 1.5F, 1}));
  const Output numbers = constant(Tensor::of<int32_t>({2}, {1, 0}));
  const auto is = [](const Output& y, const std::vector<float>& values) {
    const Tensor got = evaluate(y);
    ASSERT_EQ(got.num_elements(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_FLOAT_EQ(got.data<float>()[i], values[i]) << i;
  };
  is(image::crop_and_resize(x, boxes, numbers, {3, 3}, {.extrapolation_value = -1}),
     {9, 9.5F, 10, 10.5F, 11, 11.5F, 12, 12.5F, 13, 4, 4.5F, 5, 7, 7.5F, 8, -1, -1, -1});
  is(image::crop_and_resize(x, boxes, numbers, {1, 1}), {11, 7.5F});
  EXPECT_NE(error_of([&] {
              image::crop_and_resize(x, boxes, x, {2, 2});
            }).find("box_indices"),
            std::string::npos);
}

TEST_F(ImageOpsTest, DistortedBoxesFit) {
  const Output size = constant(Tensor::of<int32_t>({3}, {40, 60, 3}));
  const Output boxes = constant(Tensor::of<float>({1, 1, 4}, {0.5F, 0.5F, 1, 1}));
  const image::DistortedBox box = image::sample_distorted_bounding_box(
      size, boxes, {.seed = 3, .min_object_covered = 0.3, .min_area = 0.1, .max_area = 0.5});
  const image::DistortedBox whole = image::sample_distorted_bounding_box(
      size, boxes, {.min_object_covered = 1, .max_area = 0.2, .max_attempts = 5});
  MiniSession session;
  std::set<int32_t> tops;
  for (int run = 0; run < 20; ++run) {
    const auto got = session.run({box.begin, box.size, box.bboxes, whole.begin, whole.size});
    const auto begin = got[0].data<int32_t>();
    const auto extent = got[1].data<int32_t>();
    const double area = extent[0] * extent[1] / 2400.0;
    EXPECT_TRUE(area >= 0.1 && area <= 0.5) << area;
    EXPECT_TRUE(begin[0] >= 0 && begin[0] + extent[0] <= 40) << begin[0] << " " << extent[0];
    EXPECT_TRUE(begin[1] >= 0 && begin[1] + extent[1] <= 60) << begin[1] << " " << extent[1];
    const double ratio = static_cast<double>(extent[1]) / extent[0];
    EXPECT_TRUE(ratio > 0.7 && ratio < 1.4) << ratio;
    const int rows = begin[0] + extent[0] - std::max(begin[0], 20);
    const int columns = begin[1] + extent[1] - std::max(begin[1], 30);
    EXPECT_GE(rows * columns, 0.3 * 600);
    EXPECT_FLOAT_EQ(got[2].data<float>()[2], static_cast<float>(begin[0] + extent[0]) / 40);
    EXPECT_TRUE(got[3].identical(Tensor::of<int32_t>({3}, {0, 0, 0})));
    EXPECT_TRUE(got[4].identical(Tensor::of<int32_t>({3}, {40, 60, -1})));
    tops.insert(begin[0]);
  }
  EXPECT_GT(tops.size(), 3U);
}

TEST_F(ImageOpsTest, IntegersSaturate) {
  const Output x = constant(Tensor::of<uint8_t>({1, 1, 3}, {0, 128, 250}));
  const auto got = evaluate(
      {image::adjust_brightness(x, 0.1), image::adjust_brightness(x, -0.5),
       image::convert_image_dtype(x, DType::f32), image::convert_image_dtype(x, DType::u16),
       image::convert_image_dtype(image::convert_image_dtype(x, DType::f32), DType::u8)});
  EXPECT_TRUE(got[0].identical(Tensor::of<uint8_t>({1, 1, 3}, {25, 153, 255})))
      << got[0].to_string();
  EXPECT_TRUE(got[1].identical(Tensor::of<uint8_t>({1, 1, 3}, {0, 0, 122}))) << got[1].to_string();
  EXPECT_FLOAT_EQ(got[2].data<float>()[2], 250.0F / 255);
  EXPECT_EQ(got[3].data<uint16_t>()[1], 128 * 256);
  EXPECT_TRUE(got[4].identical(Tensor::of<uint8_t>({1, 1, 3}, {0, 128, 250})));
}

// Casts of TensorFlow wrap, so an exported graph must have the limits.
TEST_F(ImageOpsTest, SaturatingCastsAreClipped) {
  const Output x = placeholder(DType::f32, {3}, "x");
  const Output y = image::convert_image_dtype(x, DType::u8, /*saturate=*/true);
  const Output clipped = y.node()->input(0);
  ASSERT_EQ(y.node()->op_name(), "Cast");
  const auto got = evaluate({clipped, y}, {{x, Tensor::of<float>({3}, {1.2F, 0.5F, -0.25F})}});
  EXPECT_TRUE(got[0].identical(Tensor::of<float>({3}, {255, 127.75F, 0}))) << got[0].to_string();
  EXPECT_TRUE(got[1].identical(Tensor::of<uint8_t>({3}, {255, 127, 0}))) << got[1].to_string();
  // The largest s32 is the largest f32 below 2^31, as in TensorFlow 2.15.
  const Output wide = image::convert_image_dtype(x, DType::s32, /*saturate=*/true);
  const Tensor limits = evaluate(wide, {{x, Tensor::of<float>({3}, {1.2F, -1.2F, 0})}});
  EXPECT_TRUE(limits.identical(Tensor::of<int32_t>({3}, {2147483520, -2147483647 - 1, 0})))
      << limits.to_string();
}

TEST_F(ImageOpsTest, RandomOpsDrawAnewInEachRun) {
  const Tensor picture = random_tensor({6, 6, 1});
  const Output x = constant(picture);
  const Output crop = image::random_crop(x, {2, 3, 1}, {.seed = 1});
  const Output flip = image::random_flip_left_right(x, {.seed = 2});
  const Output light = image::random_brightness(x, 0.5, {.seed = 3});
  const Output contrast = image::random_contrast(x, 0.5, 1.5, {.seed = 4});
  MiniSession session;
  std::set<float> corners;
  int flips = 0;
  for (int i = 0; i < 60; ++i) {
    const auto got = session.run({crop, flip, light, contrast});
    EXPECT_EQ(got[0].shape(), (Shape{2, 3, 1}));
    corners.insert(got[0].data<float>()[0]);
    const bool same = got[1].identical(picture);
    flips += same ? 0 : 1;
    EXPECT_EQ(got[1].data<float>()[same ? 0 : 5], picture.data<float>()[0]);
    EXPECT_LE(std::abs(got[2].data<float>()[0] - picture.data<float>()[0]), 0.5F);
  }
  EXPECT_GE(corners.size(), 15U);
  EXPECT_LE(corners.size(), 20U);
  EXPECT_GE(flips, 15);
  EXPECT_LE(flips, 45);
}

// What is too small for the crop is found when its size is known.
TEST_F(ImageOpsTest, RandomCropOfUnknownSizes) {
  const Output x = placeholder(DType::f32, {kUnknown, kUnknown, 1});
  const Output crop = image::random_crop(x, {2, 2, 1});
  MiniSession session;
  EXPECT_EQ(session.run(crop, {{x, Tensor::zeros(DType::f32, {2, 5, 1})}}).shape(),
            (Shape{2, 2, 1}));
  EXPECT_NE(error_of([&] {
              session.run(crop, {{x, Tensor::zeros(DType::f32, {1, 5, 1})}});
            }).find("elements of axis 0 of [1,5,1], got [0,2)"),
            std::string::npos);
}

}  // namespace
}  // namespace systole
