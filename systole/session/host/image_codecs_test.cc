// Image files through the ops that read and write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/images/image.h"
#include "systole/session/host/host_function.h"

namespace systole {
namespace {

using ::testing::HasSubstr;

// A smooth picture, which JPEG keeps well.
Tensor picture(int64_t height, int64_t width, int64_t channels) {
  Tensor result(DType::u8, {height, width, channels});
  auto out = result.data<uint8_t>();
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    const int64_t x = i / channels % width;
    const int64_t y = i / channels / width;
    out[i] = static_cast<uint8_t>(3 * x + 2 * y + 20 * (i % channels));
  }
  return result;
}

Tensor run(const Tensor& input, const std::function<Output(const Output&)>& fn) {
  const HostFunction f = HostFunction::trace(
      input.type(), [&](const Nest<Output>& x) { return Nest<Output>(fn(x.leaf())); });
  return f(std::vector{input})[0];
}

TEST(ImageCodecs, PngKeepsEveryPixel) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = picture(5, 7, channels);
    const Tensor back = run(image, [](const Output& x) {
      return image::decode_png(image::encode_png(x, {.compression = 9}));
    });
    EXPECT_TRUE(back.identical(image)) << channels;
  }
}

TEST(ImageCodecs, JpegIsClose) {
  const Tensor image = picture(16, 24, 3);
  const Tensor back = run(image, [](const Output& x) {
    const Output bytes = image::encode_jpeg(x);
    const Output decoded = image::decode_jpeg(bytes, {.channels = 3});
    return reduce_max(
               abs(cast(decoded, DType::s32) - cast(image::decode_image(bytes), DType::s32))) +
           reduce_max(abs(cast(decoded, DType::s32) - cast(x, DType::s32)));
  });
  EXPECT_LE(back.item<int32_t>(), 12);
}

TEST(ImageCodecs, DecodersTakeFilesOfTheOtherKind) {
  const Tensor image = picture(5, 7, 3);
  const Tensor png = Tensor::scalar<std::string>(encode_png(image));
  const Tensor jpeg = Tensor::scalar<std::string>(encode_jpeg(image));
  EXPECT_TRUE(run(png, [](const Output& x) { return image::decode_jpeg(x); }).identical(image));
  EXPECT_EQ(
      run(png, [](const Output& x) { return image::decode_jpeg(x, {.channels = 1}); }).shape(),
      (Shape{5, 7, 1}));
  EXPECT_TRUE(run(jpeg, [](const Output& x) {
                return image::decode_png(x, {.channels = 3});
              }).identical(run(jpeg, [](const Output& x) { return image::decode_jpeg(x); })));
}

// The sizes of what a file holds are found when it is decoded; each gets its program.
TEST(ImageCodecs, DecodedImagesAreResized) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {}}, [](const Nest<Output>& x) {
        return image::resize_bilinear(image::decode_png(x, {.channels = 1}), {4, 4});
      });
  EXPECT_EQ(f.result_spec().to_string(), "f32[4,4,1]");
  for (const int64_t size : {4, 8, 6, 8}) {
    const Tensor bytes = Tensor::scalar<std::string>(encode_png(picture(size, size, 1)));
    const Tensor small = f(std::vector{bytes})[0];
    EXPECT_EQ(small.type(), (TensorType{DType::f32, {4, 4, 1}}));
    EXPECT_FLOAT_EQ(small.data<float>()[1], 3.0F * static_cast<float>(size) / 4);
  }
}

TEST(ImageCodecs, ShapesAndPartsOfFiles) {
  for (const int64_t channels : {1, 3}) {
    const Tensor jpeg = Tensor::scalar<std::string>(encode_jpeg(picture(5, 7, channels)));
    const Tensor shape = run(jpeg, [](const Output& x) { return image::extract_jpeg_shape(x); });
    EXPECT_TRUE(shape.identical(Tensor::of<int32_t>({3}, {5, 7, static_cast<int32_t>(channels)})));
  }
  const Tensor jpeg = Tensor::scalar<std::string>(encode_jpeg(picture(16, 24, 3)));
  const Tensor window = Tensor::of<int32_t>({4}, {3, 5, 6, 7});
  const Tensor part =
      run(jpeg, [&](const Output& x) { return image::decode_and_crop_jpeg(x, window); });
  const Tensor expected = run(jpeg, [](const Output& x) {
    return image::crop_to_bounding_box(image::decode_jpeg(x), 3, 5, 6, 7);
  });
  EXPECT_TRUE(part.identical(expected));
}

TEST(ImageCodecs, BadFilesAndOptions) {
  const auto error = [](const Tensor& input, const std::function<Output(const Output&)>& fn) {
    try {
      run(input, fn);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const Tensor text("not an image");
  EXPECT_THAT(error(text, [](const Output& x) { return image::decode_jpeg(x); }),
              ::testing::AllOf(HasSubstr("INVALID_ARGUMENT: DecodeJpeg: "),
                               HasSubstr("image_codecs_test.cc")));
  EXPECT_THAT(error(text, [](const Output& x) { return image::extract_jpeg_shape(x); }),
              HasSubstr("INVALID_ARGUMENT: ExtractJpegShape: "));
  EXPECT_THAT(error(text, [](const Output& x) { return image::decode_png(x); }),
              HasSubstr("INVALID_ARGUMENT: DecodePng: "));
  EXPECT_THAT(error(text, [](const Output& x) { return image::decode_image(x); }),
              HasSubstr("INVALID_ARGUMENT: DecodeImage: "));
  EXPECT_THAT(error(text, [](const Output& x) { return image::decode_jpeg(x, {.channels = 2}); }),
              HasSubstr("channels, got 2, expected one of 0, 1, 3"));
  EXPECT_THAT(
      error(text, [](const Output& x) { return image::decode_png(x, {.dtype = DType::f32}); }),
      HasSubstr("dtype, got f32, expected u8 or u16"));
  EXPECT_THAT(
      error(Tensor::zeros(DType::u8, {2, 2}), [](const Output& x) { return image::encode_png(x); }),
      HasSubstr("image, got u8[2,2], expected [height, width, channels] of u8 or u16"));
}

}  // namespace
}  // namespace systole
