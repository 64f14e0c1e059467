// JPEG images with the typical size of training photographs, decoded by decode_jpeg and by a map
// that also resizes. The limit calls the decoder library with the same settings. One thread.
// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs both
// clang-format on
#include <jpeglib.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "bench/figures.h"
#include "systole/io/images/image.h"
#include "systole/systole.h"

namespace bench {
namespace {

constexpr int64_t kHeight = 375;
constexpr int64_t kWidth = 500;
constexpr int64_t kTarget = 224;
// Images of pairwise different sizes.
constexpr int64_t kSizes = 100;

// Sums waves whose amplitude grows with the wavelength, like the spectrum of a photograph.
const st::Tensor& waves() {
  static const st::Tensor pixels = [] {
    st::Tensor image(st::DType::u8, {kHeight + kSizes, kWidth + kSizes, 3});
    auto out = image.data<uint8_t>().begin();
    for (int64_t y = 0; y < image.dim(0); ++y) {
      for (int64_t x = 0; x < image.dim(1); ++x) {
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
    return image;
  }();
  return pixels;
}

// A crop of them, about 36 KB.
std::string photograph(int64_t height, int64_t width) {
  st::Tensor image(st::DType::u8, {height, width, 3});
  const auto row = static_cast<size_t>(width * 3);
  for (int64_t y = 0; y < height; ++y) {
    std::copy_n(waves().slice(y, y + 1).data<uint8_t>().begin(), row,
                image.data<uint8_t>().begin() + y * static_cast<int64_t>(row));
  }
  return st::encode_jpeg(image, 92);
}

using Files = std::vector<std::string>;
const Files& one_size() {
  static const Files one{photograph(kHeight, kWidth)};
  return one;
}
const Files& many_sizes() {
  static const Files many = [] {
    Files result;
    for (int64_t i = 0; i < kSizes; ++i) {
      result.push_back(photograph(kHeight - kSizes / 2 + i, kWidth + kSizes / 2 - i));
    }
    return result;
  }();
  return many;
}

using Which = const Files& (*)();

void decoded(benchmark::State& state) {
  const std::string& bytes = one_size().front();
  for (auto _ : state) benchmark::DoNotOptimize(st::decode_jpeg(bytes).raw());
}

void resized(benchmark::State& state, Which which) {
  const Files& files = which();
  const st::Dataset dataset =
      st::Dataset::from_tensor_slices(
          st::Element(st::Tensor::of<std::string>({static_cast<int64_t>(files.size())}, files)))
          .map([](st::Output file) {
            return st::image::resize_bilinear(st::image::decode_jpeg(file, {.channels = 3}),
                                              {kTarget, kTarget});
          })
          .repeat();
  st::Iterator iterator(dataset);
  st::Components row;
  iterator.next_row(row);
  for (auto _ : state) {
    for (size_t i = 0; i < files.size(); ++i) {
      iterator.next_row(row);
      benchmark::DoNotOptimize(row.front().raw());
    }
  }
}

void by_library(benchmark::State& state, Which which) {
  std::vector<uint8_t> pixels(static_cast<size_t>(waves().byte_size()));
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  for (auto _ : state) {
    for (const std::string& bytes : which()) {
      jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      jpeg_read_header(&info, TRUE);
      info.dct_method = JDCT_IFAST;
      jpeg_start_decompress(&info);
      while (info.output_scanline < info.output_height) {
        JSAMPROW row = pixels.data() + size_t{info.output_scanline} * info.output_width * 3;
        jpeg_read_scanlines(&info, &row, 1);
      }
      jpeg_finish_decompress(&info);
      benchmark::DoNotOptimize(pixels.data());
    }
  }
  jpeg_destroy_decompress(&info);
}

constexpr int64_t kScalingImages = 48;

st::Iterator decoding(int64_t workers) {
  const st::Tensor file = st::Tensor::of<std::string>({1}, one_size());
  return st::Dataset::from_tensor_slices(st::Element(file))
      .repeat()
      .map(
          [](st::Output bytes) {
            return st::image::resize_bilinear(st::image::decode_jpeg(bytes, {.channels = 3}),
                                              {kTarget, kTarget});
          },
          {.num_parallel_calls = workers})
      .make_iterator();
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Times two workers relative to one, alternating.
void scaled(benchmark::State& state) {
  st::Iterator one = decoding(1);
  st::Iterator two = decoding(2);
  const auto take = [](st::Iterator& iterator) {
    st::Components row;
    for (int64_t i = 0; i < kScalingImages; ++i) iterator.next_row(row);
  };
  take(one);
  take(two);
  for (auto _ : state) {
    const double alone = seconds_of([&] { take(one); });
    state.SetIterationTime(seconds_of([&] { take(two); }) / alone);
  }
}

// The same with threads that only decode.
void scaled_by_hand(benchmark::State& state) {
  const auto decode = [](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      benchmark::DoNotOptimize(st::decode_jpeg(one_size().front()).raw());
    }
  };
  for (auto _ : state) {
    const double alone = seconds_of([&] { decode(kScalingImages); });
    state.SetIterationTime(seconds_of([&] {
                             std::thread other([&] { decode(kScalingImages / 2); });
                             decode(kScalingImages / 2);
                             other.join();
                           }) /
                           alone);
  }
}

}  // namespace

void add_jpeg_figures() {
  const auto row = [](const char* name, Which which, Body ours) {
    add({.name = name,
         .unit = "images/s",
         .work = which == one_size ? 1.0 : kSizes,
         .ours = std::move(ours),
         .limit = [which](benchmark::State& state) { by_library(state, which); }});
  };
  row("jpeg.decode", one_size, decoded);
  row("jpeg.decode_resize_224", one_size,
      [](benchmark::State& state) { resized(state, one_size); });
  row("jpeg.decode_resize_224.sizes", many_sizes,
      [](benchmark::State& state) { resized(state, many_sizes); });
  add({.name = "jpeg.workers.2_over_1",
       .unit = "x",
       .work = 1,
       .ours = scaled,
       .manual_time = true,
       .limit = scaled_by_hand});
}

}  // namespace bench
