#include "systole/keras/preprocessing/image_file.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "systole/io/file_systems/file_systems.h"
#include "systole/io/images/image.h"

namespace systole::keras::preprocessing::image {
namespace {

// A filter of PIL: its weight at a distance, and the distance from which that is 0.
struct ResizeFilter {
  std::string_view name;
  double support;
  double (*weight)(double distance);
};

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

constexpr double kBicubicA = -0.5;

const std::array<ResizeFilter, 5> kResizeFilters = {{
    {"box", 0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }},
    {"bilinear", 1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }},
    {"hamming", 1,
     [](double x) {
       return std::abs(x) >= 1 ? 0.0 : sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x));
     }},
    {"bicubic", 2,
     [](double x) {
       const double d = std::abs(x);
       if (d < 1) return ((kBicubicA + 2) * d - (kBicubicA + 3)) * d * d + 1;
       return d < 2 ? (((d - 5) * d + 8) * d - 4) * kBicubicA : 0.0;
     }},
    {"lanczos", 3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0; }},
}};

// The pixels that make one pixel of the result.
struct ResizeTaps {
  int64_t first = 0;
  std::vector<double> weights;
};

std::vector<ResizeTaps> resize_taps(int64_t from, int64_t to, const ResizeFilter& filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.0);
  const double support = filter.support * width;
  std::vector<ResizeTaps> all;
  for (int64_t i = 0; i < to; ++i) {
    // NOLINTBEGIN(bugprone-incorrect-roundings): Pillow adds 0.5 and truncates
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    ResizeTaps taps{.first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0),
                    .weights = {}};
    const int64_t end = std::min(static_cast<int64_t>(centre + support + 0.5), from);
    // NOLINTEND(bugprone-incorrect-roundings)
    double sum = 0;
    for (int64_t k = taps.first; k < end; ++k) {
      taps.weights.push_back(filter.weight((static_cast<double>(k) - centre + 0.5) / width));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum == 0 ? 1 : sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// Resizes the middle axis of u8 [outer, n, inner].
std::vector<uint8_t> resize_axis(const uint8_t* from, int64_t outer, int64_t n, int64_t inner,
                                 const std::vector<ResizeTaps>& taps) {
  std::vector<uint8_t> result;
  result.reserve(static_cast<size_t>(outer * inner) * taps.size());
  for (int64_t o = 0; o < outer; ++o, from += n * inner) {
    for (const ResizeTaps& tap : taps) {
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0.5;
        for (size_t k = 0; k < tap.weights.size(); ++k) {
          sum += tap.weights[k] * from[(tap.first + static_cast<int64_t>(k)) * inner + i];
        }
        result.push_back(static_cast<uint8_t>(std::clamp(sum, 0.0, 255.0)));
      }
    }
  }
  return result;
}

Tensor resize_nearest(const Tensor& image, int64_t height, int64_t width) {
  Tensor result(DType::u8, {height, width, image.dim(2)});
  const auto* const from = image.data<uint8_t>().data();
  auto* to = result.data<uint8_t>().data();
  const int64_t channels = image.dim(2);
  for (int64_t r = 0; r < height; ++r) {
    const int64_t row = (2 * r + 1) * image.dim(0) / (2 * height);
    for (int64_t c = 0; c < width; ++c, to += channels) {
      const int64_t column = (2 * c + 1) * image.dim(1) / (2 * width);
      std::copy_n(from + (row * image.dim(1) + column) * channels, channels, to);
    }
  }
  return result;
}

Tensor with_alpha(const Tensor& rgb) {
  Tensor result(DType::u8, {rgb.dim(0), rgb.dim(1), 4});
  const auto* from = rgb.data<uint8_t>().data();
  auto* to = result.data<uint8_t>().data();
  for (int64_t i = 0; i < rgb.dim(0) * rgb.dim(1); ++i, from += 3, to += 4) {
    std::copy_n(from, 3, to);
    to[3] = 255;
  }
  return result;
}

Tensor decode_image_file(const std::string& path, const std::string& bytes, int channels) {
  const ImageFormat format = sniff_image(bytes);
  try {
    if (format == ImageFormat::png) return decode_png(bytes, {.channels = channels});
    if (format == ImageFormat::jpeg) {
      const Tensor image = decode_jpeg(bytes, {.channels = std::min(channels, 3)});
      return channels == 4 ? with_alpha(image) : image;
    }
  } catch (const Error& error) {
    throw error.with_context(path);
  }
  throw unimplemented("{}: image, got {}, expected JPEG or PNG", path, image_format_name(format));
}

}  // namespace

int channels_of(const std::string& color_mode) {
  if (color_mode == "grayscale") return 1;
  if (color_mode == "rgb") return 3;
  if (color_mode == "rgba") return 4;
  throw invalid_argument(
      "color_mode: Invalid color mode: '{}'; expected \"rgb\", \"rgba\", or \"grayscale\".",
      color_mode);
}

Tensor resize_img(const Tensor& image, int64_t height, int64_t width,
                  const std::string& interpolation) {
  if (image.rank() != 3 || image.dtype() != DType::u8 || image.num_elements() == 0) {
    throw invalid_argument("resize_img: image, got {}, expected u8[height,width,channels]",
                           image.type());
  }
  if (height < 1 || width < 1) {
    throw invalid_argument("resize_img: size, got {} x {}, expected at least 1 x 1", height, width);
  }
  if (interpolation == "nearest") return resize_nearest(image, height, width);
  const auto* const filter = std::ranges::find(kResizeFilters, interpolation, &ResizeFilter::name);
  if (filter == kResizeFilters.end()) {
    throw invalid_argument(
        "resize_img: Invalid interpolation method '{}' specified. Supported methods are nearest, "
        "bilinear, bicubic, lanczos, box and hamming",
        interpolation);
  }
  const int64_t channels = image.dim(2);
  const std::vector<uint8_t> wide =
      resize_axis(image.data<uint8_t>().data(), image.dim(0), image.dim(1), channels,
                  resize_taps(image.dim(1), width, *filter));
  return Tensor::of<uint8_t>({height, width, channels},
                             resize_axis(wide.data(), 1, image.dim(0), width * channels,
                                         resize_taps(image.dim(0), height, *filter)));
}

Tensor load_img(const std::string& path, const LoadImgOptions& options) {
  const int channels = channels_of(options.color_mode);
  Tensor image = decode_image_file(path, read_file(default_file_system(), path), channels);
  if (!options.target_size) return image;
  const auto [height, width] = *options.target_size;
  if (image.dim(0) == height && image.dim(1) == width) return image;
  return resize_img(image, height, width, options.interpolation);
}

}  // namespace systole::keras::preprocessing::image
