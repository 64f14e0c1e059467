#include "systole/io/images/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Smooth colors, which JPEG keeps.
Tensor gradient(int64_t height, int64_t width, int64_t channels, DType dtype = DType::u8) {
  Tensor image(DType::s32, {height, width, channels});
  const auto out = image.data<int32_t>();
  const int scale = dtype == DType::u16 ? 257 : 1;
  for (int64_t y = 0, i = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c, ++i) {
        out[i] = static_cast<int32_t>(10 + (x * 3 + y * (c + 1)) % 200) * scale;
      }
    }
  }
  return image.cast(dtype);
}

double mean_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.type(), b.type());
  double sum = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) sum += std::abs(a.as_double(i) - b.as_double(i));
  return sum / static_cast<double>(a.num_elements());
}

TEST(ImageTest, PngKeepsEveryKind) {
  for (const DType dtype : {DType::u8, DType::u16}) {
    for (const int channels : {1, 2, 3, 4}) {
      const Tensor image = gradient(5, 7, channels, dtype);
      const std::string bytes = encode_png(image);
      EXPECT_EQ(bytes, encode_png(image));
      EXPECT_TRUE(decode_png(bytes, {.dtype = dtype}).identical(image));
      EXPECT_EQ(sniff_image(bytes), ImageFormat::png);
      const ImageInfo info = read_image_info(bytes);
      EXPECT_EQ(info.height, 5);
      EXPECT_EQ(info.width, 7);
      EXPECT_EQ(info.channels, channels);
      EXPECT_EQ(info.bit_depth, dtype == DType::u8 ? 8 : 16);
    }
  }
}

TEST(ImageTest, PngConversions) {
  const Tensor rgb = Tensor::of<uint8_t>({1, 2, 3}, {100, 200, 50, 7, 7, 7});
  const std::string color = encode_png(rgb);
  EXPECT_TRUE(decode_png(color, {.channels = 4})
                  .identical(Tensor::of<uint8_t>({1, 2, 4}, {100, 200, 50, 255, 7, 7, 7, 255})));
  // 0.299 red, 0.587 green, 0.114 blue; the library cuts what is after the point.
  EXPECT_LE(
      mean_difference(decode_png(color, {.channels = 1}), Tensor::of<uint8_t>({1, 2, 1}, {153, 7})),
      1);
  const std::string gray = encode_png(Tensor::of<uint8_t>({1, 2, 1}, {3, 255}));
  EXPECT_TRUE(decode_png(gray, {.channels = 3})
                  .identical(Tensor::of<uint8_t>({1, 2, 3}, {3, 3, 3, 255, 255, 255})));
  EXPECT_TRUE(decode_png(gray, {.channels = 2})
                  .identical(Tensor::of<uint8_t>({1, 2, 2}, {3, 255, 255, 255})));
  EXPECT_TRUE(decode_png(gray, {.dtype = DType::u16})
                  .identical(Tensor::of<uint16_t>({1, 2, 1}, {3 * 257, 65535})));
  const std::string wide = encode_png(Tensor::of<uint16_t>({1, 2, 1}, {0x1234, 0xff00}));
  EXPECT_TRUE(decode_png(wide).identical(Tensor::of<uint8_t>({1, 2, 1}, {0x12, 0xff})));
  const std::string alpha = encode_png(Tensor::of<uint8_t>({1, 1, 4}, {1, 2, 3, 4}));
  EXPECT_TRUE(
      decode_png(alpha, {.channels = 3}).identical(Tensor::of<uint8_t>({1, 1, 3}, {1, 2, 3})));
}

// All rows of the second width begin on the border of a vector, where they are decoded aside.
void check_jpeg_round_trip(int64_t width) {
  for (const int channels : {1, 3}) {
    const Tensor image = gradient(37, width, channels);
    const std::string bytes = encode_jpeg(image, 95);
    EXPECT_EQ(sniff_image(bytes), ImageFormat::jpeg);
    const ImageInfo info = read_image_info(bytes);
    EXPECT_EQ(info.height, 37);
    EXPECT_EQ(info.width, width);
    EXPECT_EQ(info.channels, channels);
    EXPECT_LT(mean_difference(decode_jpeg(bytes), image), 6);
    EXPECT_LT(mean_difference(decode_jpeg(bytes, {.dct_method = "INTEGER_ACCURATE"}), image), 6);
    EXPECT_EQ(decode_jpeg(bytes, {.channels = 4 - channels}).dim(2), 4 - channels);
    EXPECT_EQ(decode_jpeg(bytes, {.fancy_upscaling = false}).type(), image.type());
    EXPECT_TRUE(decode_image(bytes).identical(decode_jpeg(bytes)));
    for (const int ratio : {1, 2, 4, 8}) {
      EXPECT_EQ(decode_jpeg(bytes, {.ratio = ratio}).type(),
                (TensorType{DType::u8,
                            {(37 + ratio - 1) / ratio, (width + ratio - 1) / ratio, channels}}));
    }
  }
}

TEST(ImageTest, JpegRoundTrip) {
  check_jpeg_round_trip(53);
  check_jpeg_round_trip(64);
}

TEST(ImageTest, CutAtEveryByte) {
  const std::string jpeg = encode_jpeg(gradient(16, 16, 3), 50);
  const std::string png = encode_png(gradient(9, 9, 3));
  for (size_t size = 0; size < jpeg.size(); ++size) {
    EXPECT_THAT(error_of([&] { decode_jpeg(jpeg.substr(0, size)); }),
                HasSubstr("INVALID_ARGUMENT: decode_jpeg: "))
        << size << " of " << jpeg.size();
  }
  for (size_t size = 0; size < png.size(); ++size) {
    EXPECT_THAT(error_of([&] { decode_png(png.substr(0, size)); }),
                HasSubstr("INVALID_ARGUMENT: decode_png: "))
        << size << " of " << png.size();
  }
  const std::string large = encode_jpeg(gradient(64, 64, 3));
  const std::string most = large.substr(0, large.size() - 200);
  EXPECT_THROW(decode_jpeg(most), Error);
  const Tensor recovered = decode_jpeg(most, {.try_recover_truncated = true});
  EXPECT_EQ(recovered.dim(0), 64);
  EXPECT_TRUE(recovered.slice(0, 16).identical(decode_jpeg(large).slice(0, 16)));
}

TEST(ImageTest, FlippedBitsNeverCrash) {
  const std::string jpeg = encode_jpeg(gradient(16, 16, 3), 50);
  const std::string png = encode_png(gradient(9, 9, 3));
  const ImageLimits small = {.max_bytes = 1 << 20};
  int errors = 0;
  for (size_t bit = 0; bit < jpeg.size() * 8; bit += 3) {
    std::string flipped = jpeg;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    (void)error_of([&] { decode_jpeg(flipped, {.limits = small}); });
  }
  for (size_t bit = 0; bit < png.size() * 8; ++bit) {
    std::string flipped = png;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    errors += error_of([&] { decode_png(flipped, {.limits = small}); }) == "no error" ? 0 : 1;
  }
  EXPECT_EQ(errors, static_cast<int>(png.size() * 8));  // each chunk has a checksum
}

TEST(ImageTest, HugeImagesAreRefused) {
  // The size stands in bytes 16 to 23 of a PNG; its checksum follows.
  const std::string png = encode_png(gradient(9, 9, 3));
  EXPECT_THAT(error_of([&] { decode_png(png, {.limits = {.max_bytes = 200}}); }),
              AllOf(HasSubstr("RESOURCE_EXHAUSTED: decode_png: size of the decoded image"),
                    HasSubstr("9 x 9 pixels of 3 bytes")));
  std::string jpeg = encode_jpeg(gradient(16, 16, 3), 50);
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");  // 65500 x 65500
  EXPECT_THAT(error_of([&] { decode_jpeg(jpeg); }),
              HasSubstr("RESOURCE_EXHAUSTED: decode_jpeg: size of the decoded image, got 65500 x "
                        "65500 pixels of 3 bytes, expected at most 536870912 bytes"));
  // Within the limits, but more than so few bytes can be.
  jpeg.replace(frame + 5, 4, std::string("\x2e\xe0\x2e\xe0", 4));  // 12000 x 12000
  EXPECT_THAT(error_of([&] { decode_jpeg(jpeg); }),
              HasSubstr("got 'fewer bytes than its size in pixels needs'"));
  // An even image takes least: still it is decoded.
  for (const int64_t size : {8, 500, 4000}) {
    const Tensor even = Tensor::full(DType::u8, {size, size, 3}, 7);
    EXPECT_EQ(decode_jpeg(encode_jpeg(even, 1)).dim(0), size);
  }
}

TEST(ImageTest, Options) {
  const std::string jpeg = encode_jpeg(gradient(8, 8, 3));
  const std::string png = encode_png(gradient(8, 8, 3));
  const struct {
    std::function<void()> run;
    std::string error;
  } rows[] = {
      {[&] { decode_jpeg(jpeg, {.channels = 2}); }, "channels, got 2, expected 0, 1 or 3"},
      {[&] { decode_jpeg(jpeg, {.ratio = 3}); }, "ratio, got 3, expected 1, 2, 4 or 8"},
      {[&] { decode_jpeg(jpeg, {.dct_method = "FLOAT"}); }, "dct_method, got 'FLOAT'"},
      {[&] { decode_jpeg(png); }, "expected a whole JPEG image"},
      {[&] { decode_png(jpeg); }, "expected a whole PNG image"},
      {[&] { decode_png(png, {.channels = 5}); }, "channels, got 5, expected 0 to 4"},
      {[&] { decode_png(png, {.dtype = DType::f32}); }, "dtype, got f32, expected u8 or u16"},
      {[&] { decode_image("GIF89a"); }, "got GIF, expected JPEG or PNG"},
      {[&] { decode_image(""); }, "got unknown format, expected JPEG or PNG"},
      {[&] { encode_png(Tensor(1.0F)); }, "image, got f32[], expected u8 or u16"},
      {[&] { encode_png(gradient(2, 2, 5)); }, "channels, got 5, expected 1 to 4"},
      {[&] { encode_jpeg(gradient(2, 2, 2)); }, "channels, got 2, expected 1 or 3"},
      {[&] { encode_jpeg(gradient(2, 2, 3), 101); }, "quality, got 101"},
      {[&] { encode_png(gradient(2, 2, 3), 10); }, "compression, got 10"},
      {[&] {
         encode_png(Tensor(DType::u8, {0, 2, 3}));
       },
       "at least one pixel"},
  };
  for (const auto& [run, error] : rows) EXPECT_THAT(error_of(run), HasSubstr(error));
}

}  // namespace
}  // namespace systole
