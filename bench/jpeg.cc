// JPEG images of the size that photographs in training data have, through decode_jpeg, beside the
// decoder library called by hand with the same settings. One thread.
// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs both
// clang-format on
#include <jpeglib.h>

#include <cmath>
#include <vector>

#include "bench/figures.h"
#include "systole/io/image.h"

namespace bench {
namespace {

constexpr int64_t kHeight = 375;
constexpr int64_t kWidth = 500;

// Waves of all lengths, the longer the stronger, as a photograph has them; some 80 KB.
const std::string& photograph() {
  static const std::string bytes = [] {
    systole::Tensor image(systole::DType::u8, {kHeight, kWidth, 3});
    auto out = image.data<uint8_t>().begin();
    for (int64_t y = 0; y < kHeight; ++y) {
      for (int64_t x = 0; x < kWidth; ++x) {
        for (int c = 0; c < 3; ++c) {
          double value = 128;
          for (int octave = 0; octave < 8; ++octave) {
            const double frequency = 0.02 * std::pow(1.7, octave);
            value += 50 / std::pow(1.5, octave) *
                     std::sin(frequency * static_cast<double>(x + 3 * c) + octave) *
                     std::cos(frequency * 1.3 * static_cast<double>(y) + c);
          }
          *out++ = static_cast<uint8_t>(std::min(255.0, std::max(0.0, value)));
        }
      }
    }
    return systole::encode_jpeg(image, 92);
  }();
  return bytes;
}

void ours(benchmark::State& state) {
  const std::string& bytes = photograph();
  for (auto _ : state) benchmark::DoNotOptimize(systole::decode_jpeg(bytes).raw());
}

void by_library(benchmark::State& state) {
  const std::string& bytes = photograph();
  std::vector<uint8_t> pixels(kHeight * kWidth * 3);
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  for (auto _ : state) {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info, TRUE);
    info.dct_method = JDCT_IFAST;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = pixels.data() + size_t{info.output_scanline} * kWidth * 3;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    benchmark::DoNotOptimize(pixels.data());
  }
  jpeg_destroy_decompress(&info);
}

}  // namespace

void add_jpeg_figures() {
  add({.name = "jpeg.decode",
       .unit = "MP/s",
       .work = 1e-6 * kHeight * kWidth,
       .ours = ours,
       .limit = by_library});
}

}  // namespace bench
